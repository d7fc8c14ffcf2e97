--- Comments on what the agent did: gathered in the project, shown behind their lines, sent together.
local lsp = require("sould.lsp")
local message = require("sould.message")
local move = require("sould.review.move")
local state = require("sould.review.state")

local M = {}

local namespace = vim.api.nvim_create_namespace("sould_comments")
local BEHIND_LABELS = 4097 -- of a hunk, which have the usual 4096

---@param root string
---@param params table
local function put(root, params)
  params.cwd = root
  lsp.request(root, "_sould/review/comment", params, function(problem)
    if problem then
      message.warn(problem)
    else
      lsp.refresh(root)
    end
  end)
end

---Adds a comment on the lines of a range, else on the hunk at the cursor, else on the line.
---@param call sould.Call
function M.add(call)
  local root, path, place = lsp.root(0), state.path(0), move.at_cursor()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local function say(words)
    if call.range then
      put(root, { text = words, path = path, lines = { call.first - 1, call.last } })
    elseif place then
      put(root, { text = words, hunk = place.hunk.id })
    else
      put(root, { text = words, path = path, lines = { line - 1, line } })
    end
  end
  if call.text ~= "" then
    say(call.text)
    return
  end
  vim.ui.input({ prompt = "comment> " }, function(words)
    if words and words ~= "" then
      say(words)
    end
  end)
end

---Sends all comments to the session that wrote what they are about.
function M.send()
  local root = lsp.root(0)
  lsp.request(root, "_sould/review/comments/send", { cwd = root }, function(problem, result)
    if problem then
      message.warn(problem)
    elseif result.outcome == "closed" then
      message.warn("the session that wrote this is closed; :Sould sessions opens it")
    else
      message.say("the comments are sent")
    end
  end)
end

---@param root string
local function draw(root)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_is_loaded(buf) and state.path(buf) or ""
    if path ~= "" and lsp.root(buf) == root then
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
      for _, comment in ipairs(state.comments(root)) do
        if comment.path == path and comment.start < vim.api.nvim_buf_line_count(buf) then
          local text = "  » " .. comment.text:gsub("\n", " ")
          local options = { virt_text = { { text, "SouldComment" } }, virt_text_pos = "eol", priority = BEHIND_LABELS }
          vim.api.nvim_buf_set_extmark(buf, namespace, comment.start, 0, options)
        end
      end
    end
  end
end

state.watch(draw)

return M
