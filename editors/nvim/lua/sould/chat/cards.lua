--- What a chat shows of a tool call, a plan and a question, as lines of Markdown. Pure: updates in, lines out.
local clean = require("sould.clean")

local M = {}

local MOST_LINES = 200

local SIGNS = { pending = "○", in_progress = "◐", completed = "✓", failed = "✗" }

---@param text string
---@return string[]
local function lines_of(text)
  return vim.split((text:gsub("\r\n", "\n"):gsub("\n$", "")), "\n", { plain = true })
end

---@param lines string[]
---@return string fence longer than any in them
function M.fence(lines)
  local longest = 2
  for _, line in ipairs(lines) do
    longest = math.max(longest, #(line:match("^%s*(`+)") or ""))
  end
  return ("`"):rep(longest + 1)
end

---@param path string
---@return string
local function short(path)
  return vim.fn.fnamemodify(path, ":~:.")
end

---@param part { path: string, oldText: string?, newText: string }
---@return string[]
local function diff_lines(part)
  local diff = vim.text and vim.text.diff or vim.diff
  local text = diff(part.oldText or "", part.newText, { ctxlen = 3 }) --[[@as string]]
  local lines = vim.tbl_filter(function(line)
    return line ~= "\\ No newline at end of file"
  end, lines_of(text))
  local mark = M.fence(lines)
  table.insert(lines, 1, mark .. "diff")
  table.insert(lines, mark)
  return lines
end

---@param content table[]?
---@return string[]
local function whole(content)
  local lines = {}
  for _, part in ipairs(content or {}) do
    if part.type == "diff" then
      vim.list_extend(lines, diff_lines(part))
    elseif part.type == "content" and part.content.type == "text" then
      vim.list_extend(lines, lines_of(part.content.text))
    elseif part.type == "content" then
      table.insert(lines, ("[%s]"):format(part.content.type))
    end
  end
  return lines
end

---@param content table[]?
---@return string[]
function M.content(content)
  local lines = whole(content)
  if #lines > MOST_LINES then
    local more = #lines - MOST_LINES
    lines = vim.list_slice(lines, 1, MOST_LINES)
    table.insert(lines, ("… %d more lines"):format(more))
  end
  return lines
end

---A card, whose first line stands for all of it when it is folded.
---@param call table what is known of a tool call
---@return string[]
function M.card(call)
  local title = clean.line(call.title or "A tool")
  local lines = { ("> %s %s"):format(SIGNS[call.status] or "○", title) }
  for _, line in ipairs(M.content(call.content)) do
    table.insert(lines, line == "" and ">" or "> " .. line)
  end
  return lines
end

---@param line string
---@return boolean
function M.is_header(line)
  local sign = line:match("^> (.[\128-\191]*) ")
  return sign ~= nil and vim.tbl_contains(SIGNS, sign)
end

local BOXES = { completed = "- [x] ", in_progress = "- [ ] **now** ", pending = "- [ ] " }

---@param entries { content: string, status: string }[]
---@return string[]
function M.plan(entries)
  local lines = { "*Plan*", "" }
  for _, entry in ipairs(entries) do
    table.insert(lines, (BOXES[entry.status] or "- [ ] ") .. entry.content:gsub("\n", " "))
  end
  return lines
end

---A question: what it is about, whole, and below it the options.
---@param asked table of `session/request_permission`
---@return string[]
---@return integer ends the line, from 0, with which what it is about ends
function M.question(asked)
  local call = asked.toolCall
  local lines = { "### ? " .. clean.line(call.title or "A question"), "" }
  for _, line in ipairs(whole(call.content)) do
    table.insert(lines, (clean.text(line)))
  end
  local ends = #lines > 2 and #lines - 1 or 0
  table.insert(lines, "")
  for index, option in ipairs(asked.options) do
    table.insert(lines, ("%d. %s"):format(index, clean.line(option.name)))
  end
  return lines, ends
end

---@param path string
---@param first integer
---@param last integer
---@param lines string[]
---@param filetype string
---@return string
function M.excerpt(path, first, last, lines, filetype)
  local mark = M.fence(lines)
  return ("%s, lines %d to %d:\n%s%s\n%s\n%s"):format(
    short(path),
    first,
    last,
    mark,
    filetype,
    table.concat(lines, "\n"),
    mark
  )
end

return M
