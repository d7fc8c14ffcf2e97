--- Lines that are shown and in no buffer: as the lines beside them look, with tabs, marked words and colour to the edge.
--- Draws nothing itself.
local M = {}

local WIDE = 400

---@param text string
---@return string without its end
function M.chomp(text)
  return (text:gsub("\r?\n$", ""))
end

---Tabs are drawn as themselves in virtual lines, so they become blanks.
---@param buf integer
---@param text string
---@param column integer
---@return string, integer
local function expanded(buf, text, column)
  local stop = vim.bo[buf].tabstop
  local parts = {}
  for piece, tab in text:gmatch("([^\t]*)(\t?)") do
    column = column + vim.fn.strdisplaywidth(piece, column)
    table.insert(parts, piece)
    if tab ~= "" then
      local blanks = stop - column % stop
      table.insert(parts, (" "):rep(blanks))
      column = column + blanks
    end
  end
  return table.concat(parts), column
end

---@param buf integer whose tabs it has
---@param line string
---@param spans sould.Span[] the words to mark
---@param groups { line: string, word: string }
---@param said string? a label behind it
---@return [string, string][]
function M.virtual(buf, line, spans, groups, said)
  local chunks, at, column = {}, 0, 0
  local function add(from, to, group)
    if from < to then
      local text
      text, column = expanded(buf, line:sub(from + 1, to), column)
      table.insert(chunks, { text, group })
    end
  end
  for _, span in ipairs(spans) do
    add(at, span.from, groups.line)
    add(span.from, span.to, groups.word)
    at = span.to
  end
  add(at, #line, groups.line)
  if said then
    table.insert(chunks, { "  ", groups.line })
    table.insert(chunks, { said, { groups.line, "SouldLabel" } })
  end
  table.insert(chunks, { (" "):rep(math.max(WIDE - column, 0)), groups.line })
  return chunks
end

return M
