--- What waits for an answer in the sessions of all projects, from the moment there is a connection. Shows nothing itself.
---
--- One connection for reviews tells it; when that one ends, another does.
local message = require("sould.message")

local M = {}

local items = {} ---@type table[] longest first
local root ---@type string? the project whose connection tells
local watchers = {} ---@type fun()[]

---Has `does` called after each change.
---@param does fun()
function M.watch(does)
  table.insert(watchers, does)
end

local function tell()
  for _, does in ipairs(watchers) do
    does()
  end
end

---@return table[]
function M.items()
  return items
end

---Makes a connection, where there is none.
function M.connect()
  local lsp = require("sould.lsp")
  if not root then
    lsp.ensure(lsp.root(0))
  end
end

---Asks over the connection that tells.
---@param method string
---@param params table
---@param done sould.Done
function M.request(method, params, done)
  require("sould.lsp").request(root or "", method, params, done)
end

---A project's connection is there, or has to be asked anew.
---@param project string its root
function M.follow(project)
  if root and root ~= project then
    return
  end
  root = project
  M.request("_sould/inbox/subscribe", vim.empty_dict(), function(problem, list)
    if problem then
      message.once("inbox", problem)
    else
      items = list.items
      tell()
    end
  end)
end

---A project's connection is gone.
---@param project string its root
function M.lost(project)
  if root ~= project then
    return
  end
  root, items = nil, {}
  local lsp = require("sould.lsp")
  for _, each in ipairs(lsp.projects()) do
    if lsp.connected(each.root) then
      M.follow(each.root)
      break
    end
  end
  tell()
end

---Takes a `_sould/inbox/changed`.
---@param project string
---@param news table
function M.changed(project, news)
  if project ~= root then
    return
  elseif news.everything then
    M.follow(project)
    return
  end
  local ended, known = {}, {}
  for _, each in ipairs(news.ended or {}) do
    ended[each.id] = true
  end
  items = vim.tbl_filter(function(each)
    return not ended[each.id]
  end, items)
  for index, each in ipairs(items) do
    known[each.id] = index
  end
  for _, each in ipairs(news.items or {}) do
    items[known[each.id] or #items + 1] = each
  end
  tell()
end

---Asks for one that was left out in part, and has all of it since.
---@param id string
function M.show(id)
  M.request("_sould/inbox/show", { id = id }, function(_, whole)
    items = vim.tbl_map(function(each)
      return whole and each.id == id and whole or each
    end, items)
    tell()
  end)
end

return M
