--- What sould is told of this Neovim, whenever that changes: what it serves, and what is open in each project.
---
--- What of it agents may know is decided by sould (`/editor-context`), not here.
local lsp = require("sould.lsp")
local place = require("sould.tools.place")
local state = require("sould.review.state")

local M = {}

local PAUSE_MS = 300
local EVENTS = {
  "BufEnter",
  "BufFilePost",
  "BufModifiedSet",
  "CursorMoved",
  "CursorMovedI",
  "FocusGained",
  "FocusLost",
  "ModeChanged",
  "WinScrolled",
}
local LONGEST_SELECTION = 8000

local has_focus = true

---@param buf integer
---@param row integer from 1
---@param column integer from 1, in bytes
local function at(buf, row, column)
  local line = vim.api.nvim_buf_get_lines(buf, row - 1, row, false)[1] or ""
  return place.of_bytes(line, row - 1, column - 1)
end

---@param buf integer
---@return table?
local function selection(buf)
  local mode = vim.fn.mode()
  if not mode:match("^[vV\22]") then
    return nil
  end
  local from, to = vim.fn.getpos("v"), vim.fn.getpos(".")
  local text = vim.fn.getregion(from, to, { type = mode })
  if from[2] > to[2] or (from[2] == to[2] and from[3] > to[3]) then
    from, to = to, from
  end
  local first, last = at(buf, from[2], from[3]), at(buf, to[2], to[3] + 1)
  if mode == "V" then
    first, last = at(buf, from[2], 1), at(buf, to[2], math.huge)
  end
  local said = vim.fn.strcharpart(table.concat(text, "\n"), 0, LONGEST_SELECTION)
  return { range = { start = first, ["end"] = last }, text = said }
end

---@param root string
---@return table?
local function active(root)
  local buf = vim.api.nvim_get_current_buf()
  local file = state.path(buf)
  if file == "" or lsp.root(buf) ~= root then
    return nil
  end
  local cursor = vim.api.nvim_win_get_cursor(0)
  return {
    file = file,
    languageId = vim.bo[buf].filetype,
    cursor = at(buf, cursor[1], cursor[2] + 1),
    selection = selection(buf),
    visible = { start = at(buf, vim.fn.line("w0"), 1), ["end"] = at(buf, vim.fn.line("w$"), math.huge) },
  }
end

---Says all of it, now.
---@param root string
function M.tell(root)
  local open = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buflisted and state.path(buf) or ""
    if file ~= "" and lsp.root(buf) == root then
      table.insert(open, { file = file, dirty = vim.bo[buf].modified })
    end
  end
  local shown = active(root)
  lsp.notify(root, "_sould/editor/state", {
    tools = require("sould.tools").names(),
    app = "Neovim",
    workspaceFolders = { root },
    focused = has_focus and shown ~= nil,
    active = shown,
    open = open,
  })
end

local soon = false

local function changed(event)
  if event.event:match("^Focus") then
    has_focus = event.event == "FocusGained"
  end
  if soon then
    return
  end
  soon = true
  vim.defer_fn(function()
    soon = false
    for _, project in ipairs(lsp.projects()) do
      M.tell(project.root)
    end
  end, PAUSE_MS)
end

---Has changes told from now on.
function M.setup()
  local group = vim.api.nvim_create_augroup("sould_window", {})
  vim.api.nvim_create_autocmd(EVENTS, { group = group, callback = changed })
  vim.api.nvim_create_autocmd({ "BufDelete", "BufAdd" }, { group = group, callback = changed })
end

return M
