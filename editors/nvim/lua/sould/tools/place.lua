--- Places as sould counts them (from 1, columns in UTF-16), as language servers do, and bytes, as Neovim does. Pure.
local M = {}

local NEW = vim.fn.has("nvim-0.11") == 1

---@param line string
---@param encoding string of a language server
---@param character integer
---@return integer bytes before it
function M.bytes(line, encoding, character)
  if encoding == "utf-8" then
    return math.min(character, #line)
  elseif NEW then
    return vim.str_byteindex(line, encoding, character, false)
  end
  local utf32, utf16 = vim.str_utfindex(line)
  return vim.str_byteindex(line, math.min(character, encoding == "utf-16" and utf16 or utf32), encoding == "utf-16")
end

---@param line string
---@param encoding string
---@param bytes integer
---@return integer character
function M.character(line, encoding, bytes)
  bytes = math.min(bytes, #line)
  if encoding == "utf-8" then
    return bytes
  elseif NEW then
    return vim.str_utfindex(line, encoding, bytes, false)
  end
  local utf32, utf16 = vim.str_utfindex(line, bytes)
  return encoding == "utf-16" and utf16 or utf32
end

---A place of Neovim's.
---@param line string
---@param row integer from 0
---@param bytes integer
---@return { line: integer, column: integer }
function M.of_bytes(line, row, bytes)
  return { line = row + 1, column = M.character(line, "utf-16", bytes) + 1 }
end

---A place of a language server's.
---@param lines string[]
---@param position { line: integer, character: integer }
---@param encoding string
---@return { line: integer, column: integer }
local function of_position(lines, position, encoding)
  local line = lines[position.line + 1] or ""
  return M.of_bytes(line, position.line, M.bytes(line, encoding, position.character))
end

---@param lines string[]
---@param range table of a language server
---@param encoding string
---@return { start: table, end: table }
function M.span(lines, range, encoding)
  return {
    start = of_position(lines, range.start, encoding),
    ["end"] = of_position(lines, range["end"], encoding),
  }
end

---The text of a range.
---@param lines string[]
---@param range table of a language server
---@param encoding string
---@return string
function M.slice(lines, range, encoding)
  local first, last = range.start.line + 1, range["end"].line + 1
  local found = vim.list_slice(lines, first, last)
  if found[last - first + 1] then
    local stop = M.bytes(found[#found], encoding, range["end"].character)
    found[#found] = found[#found]:sub(1, stop)
  end
  if found[1] then
    found[1] = found[1]:sub(M.bytes(lines[first], encoding, range.start.character) + 1)
  end
  return table.concat(found, "\n")
end

return M
