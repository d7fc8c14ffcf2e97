--- What the agent can be asked about code: why a hunk is, what lines do, to change them, to fix what is reported there.
---
--- The words are the server's. The answer comes in the chat of the session that was asked, which does not open for it.
local chat = require("sould.chat")
local lsp = require("sould.lsp")
local message = require("sould.message")
local move = require("sould.review.move")
local reported = require("sould.reported")
local state = require("sould.review.state")

local M = {}

---@param root string
---@param command string
---@param argument table
local function send(root, command, argument)
  lsp.execute(root, command, argument, function(begun)
    chat.follow(root, begun.sessionId)
  end)
end

---@return boolean whether the buffer has a file; says so where it has none
local function has_file()
  local found = state.path(0) ~= ""
  if not found then
    message.say("this buffer has no file; :Sould prompt takes words, and a range of lines")
  end
  return found
end

---@param call sould.Call
---@param command string
local function about_lines(call, command)
  if not has_file() then
    return
  end
  local root = lsp.root(0)
  send(root, command, {
    uri = vim.uri_from_bufnr(0),
    range = reported.lines(call.first, call.last),
    text = call.text,
    session = chat.session(root),
  })
end

---Asks the session that wrote a hunk why: that at the cursor, or one by its number.
---@param call sould.Call
function M.why(call)
  local root, id, place = lsp.root(0), tonumber(call.words[1]), move.at_cursor()
  local hunk = place and place.hunk
  if id then
    hunk = state.hunk(root, id --[[@as integer]])
  end
  if not hunk then
    message.say(id and ("there is no hunk %d to review here"):format(id) or "there is no hunk here; :Sould next goes to one")
    return
  end
  send(root, "sould.why", { uri = vim.uri_from_fname(hunk.path), id = hunk.id })
end

---Has lines explained: a range, else the line of the cursor.
---@param call sould.Call
function M.explain(call)
  about_lines(call, "sould.explain")
end

---Has lines changed: as the words say, else as their own comments do.
---@param call sould.Call
function M.edit(call)
  about_lines(call, "sould.edit")
end

---Has fixed what is reported about lines, or, with `file`, about all of the buffer.
---@param call sould.Call
function M.fix(call)
  if not has_file() then
    return
  end
  local root, whole = lsp.root(0), call.text == "file"
  local found = whole and reported.of(0) or reported.of(0, call.first, call.last)
  if #found == 0 then
    message.say(whole and "nothing is reported about this file" or "nothing is reported here; :Sould fix file takes all")
    return
  end
  send(root, "sould.fix", {
    uri = vim.uri_from_bufnr(0),
    diagnostics = found,
    text = whole and "" or call.text,
    session = chat.session(root),
  })
end

return M
