--- Whether what is reported of a buffer is about its text as it is now, and waiting until it is.
---
--- Reports name no version, so what counts is their order: after a change, once servers were sent it, and when no more came for a
--- moment, because many report errors of syntax first. Loaded with the tools; all that waits is for coroutines only.
local state = require("sould.review.state")

local M = {}

local SETTLING_MS = 500

---@class sould.Reports
---@field unsent boolean the text changed, and its servers were not sent that yet
---@field stale boolean nothing was reported since it changed
---@field changed boolean a change was seen at all
---@field at integer when something was reported last, in milliseconds of the loop

local known = {} ---@type table<integer, sould.Reports> by buffer
local waiting = {} ---@type table<integer, table<fun(), true>> by buffer

---@param buf integer
---@return boolean
local function served(buf)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
    if client.name ~= "sould" then
      return true
    end
  end
  return false
end

---@param buf integer
---@return boolean
local function anything(buf)
  for _, each in ipairs(vim.diagnostic.get(buf)) do
    if each.source ~= "sould" then
      return true
    end
  end
  return false
end

---@param buf integer
---@return sould.Reports
local function track(buf)
  if known[buf] then
    return known[buf]
  end
  local reports = { unsent = false, stale = not anything(buf), changed = false, at = 0 }
  known[buf] = reports
  local function change()
    reports.unsent, reports.stale, reports.changed = served(buf), true, true
  end
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = change,
    on_reload = change,
    on_detach = function()
      known[buf] = nil
    end,
  })
  return reports
end

---@param buf integer
local function heard(buf)
  for resume in pairs(waiting[buf] or {}) do
    vim.schedule(resume)
  end
end

---Something was reported of a buffer.
---@param buf integer
local function reported(buf)
  local reports = known[buf]
  if reports then
    reports.at = vim.uv.now()
    reports.stale = reports.stale and reports.unsent
    heard(buf)
  end
end

---@param id integer
---@return boolean
local function is_ours(id)
  local client = vim.lsp.get_client_by_id(id)
  return client ~= nil and client.name == "sould"
end

---A server was sent the text of a buffer, or a change of it.
---@param data { client_id: integer, method: string, params: table }
local function sent(data)
  local opened = data.method == "textDocument/didOpen"
  if is_ours(data.client_id) or not (opened or data.method == "textDocument/didChange") then
    return
  end
  local uri = data.params.textDocument.uri
  local buf = vim.startswith(uri, "file:") and state.buffer(vim.uri_to_fname(uri))
  if buf then
    local reports = track(buf)
    reports.unsent = false
    reports.stale = reports.stale or opened
    reports.changed = reports.changed or opened
  end
end

local group = vim.api.nvim_create_augroup("sould_freshness", {})
vim.api.nvim_create_autocmd("LspNotify", {
  group = group,
  callback = function(event)
    sent(event.data)
  end,
})
vim.api.nvim_create_autocmd("LspRequest", {
  group = group,
  callback = function(event)
    local request = event.data.request
    if request.type == "complete" and request.method == "textDocument/diagnostic" then
      reported(request.bufnr) -- with nothing new in it there is no other event
    end
  end,
})
vim.api.nvim_create_autocmd("DiagnosticChanged", {
  group = group,
  callback = function(event)
    local given = event.data and event.data.diagnostics or {}
    if #given == 0 or given[1].source ~= "sould" then
      reported(event.buf)
    end
  end,
})

---Returns when something is reported of a buffer, or it is that late.
---@param buf integer
---@param milliseconds integer
local function pause(buf, milliseconds)
  local routine, timer = coroutine.running(), nil
  waiting[buf] = waiting[buf] or {}
  local function go()
    if timer then
      waiting[buf][go] = nil
      if not timer:is_closing() then
        timer:close()
      end
      timer = nil
      coroutine.resume(routine)
    end
  end
  waiting[buf][go] = true
  timer = vim.defer_fn(go, milliseconds)
  coroutine.yield()
  if not next(waiting[buf] or {}) then
    waiting[buf] = nil
  end
end

---Waits until what is reported of a buffer is about its text, no longer than until then.
---@param buf integer
---@param stop integer milliseconds of the loop
---@return boolean whether it is, as far as can be known
function M.wait(buf, stop)
  local reports = track(buf)
  while vim.api.nvim_buf_is_valid(buf) do
    local now = vim.uv.now()
    local settled = reports.at + SETTLING_MS
    if (not reports.stale and now >= settled) or now >= stop then
      break
    end
    pause(buf, math.max(1, (reports.stale and stop or math.min(settled, stop)) - now))
  end
  if not reports.changed then
    reports.stale = false -- who had nothing to say of it by now will not say that
  end
  return not reports.stale
end

return M
