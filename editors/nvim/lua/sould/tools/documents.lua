--- The files that editor tools are about, and the language servers of this Neovim that know them.
---
--- A file that is not open is loaded for one call without being shown, and is gone after it. All that waits is for coroutines only.
local lsp = require("sould.lsp")
local place = require("sould.tools.place")
local state = require("sould.review.state")
local write = require("sould.review.write")

local M = {}

local FOR_A_SERVER_MS, FOR_AN_ANSWER_MS = 1000, 12000

---Ends the call with an error of the catalogue.
---@param code string
---@param message string
function M.fail(code, message)
  error({ code = code, message = message }, 0)
end

---The text of a file: that of its buffer, or of the disk.
---@param file string
---@return string?
local function text_of(file)
  local buf = state.buffer(file)
  if buf then
    return write.text(buf)
  end
  local opened = io.open(file, "rb")
  local text = opened and opened:read("*a")
  if opened then
    opened:close()
  end
  return text
end

---@param file string
---@return string[] lines none where it cannot be read
---@return string digest
function M.lines(file)
  local text = text_of(file)
  if not text then
    return {}, ""
  end
  return vim.split(text, "\r?\n"), vim.fn.sha256(text)
end

---A buffer for a file, with the name that `:edit` would give it.
---@param file string
---@return integer
function M.add(file)
  return vim.fn.bufadd(vim.fn.fnamemodify(file, ":."))
end

local hidden = {} ---@type table<integer, integer> by buffer: the calls that it is loaded for

---@param buf integer
---@return boolean
local function load(buf)
  local elsewhere = false
  local watching = vim.api.nvim_create_autocmd("SwapExists", {
    callback = function()
      elsewhere, vim.v.swapchoice = true, "q"
    end,
  })
  vim.b[buf].sould_hidden = true
  local fine = pcall(vim.fn.bufload, buf)
  vim.api.nvim_del_autocmd(watching)
  return fine and not elsewhere and vim.api.nvim_buf_is_loaded(buf)
end

---@param buf integer
---@param known boolean it was in the list of buffers before
local function release(buf, known)
  hidden[buf] = hidden[buf] - 1
  if hidden[buf] > 0 then
    return
  end
  hidden[buf] = nil
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  vim.b[buf].sould_hidden = nil
  local taken = vim.fn.bufwinid(buf) ~= -1 or vim.bo[buf].modified or (vim.bo[buf].buflisted and not known)
  if taken then
    lsp.attach(buf) -- the user has opened it in the meantime
  else
    pcall(vim.api.nvim_buf_delete, buf, { unload = known })
  end
end

---Does something with the buffer of a file.
---@generic T
---@param file string
---@param does fun(buf: integer): T
---@return T
function M.with(file, does)
  local buf = state.buffer(file)
  if buf and not hidden[buf] then
    return does(buf)
  end
  if not vim.uv.fs_stat(file) then
    M.fail("not_found", file .. " is not there.")
  end
  local known = vim.fn.buflisted(file) == 1
  buf = buf or M.add(file)
  hidden[buf] = (hidden[buf] or 0) + 1
  local fine, result = pcall(function()
    if not vim.api.nvim_buf_is_loaded(buf) and not load(buf) then
      M.fail("not_supported", ("Neovim cannot load %s beside what the user does."):format(file))
    end
    return does(buf)
  end)
  release(buf, known)
  if not fine then
    error(result, 0)
  end
  return result
end

---Waits for something to happen to a buffer, no longer than that.
---@param event string
---@param buf integer
---@param milliseconds integer
local function wait(event, buf, milliseconds)
  local routine, timer, watching = coroutine.running(), nil, nil
  local function go()
    if timer then
      pcall(vim.api.nvim_del_autocmd, watching)
      if not timer:is_closing() then
        timer:close()
      end
      timer = nil
      coroutine.resume(routine)
    end
  end
  timer = vim.defer_fn(go, milliseconds)
  watching = vim.api.nvim_create_autocmd(event, {
    buffer = buf,
    callback = function()
      vim.schedule(go)
    end,
  })
  coroutine.yield()
end

---@param buf? integer any, without it
---@param method? string
---@return vim.lsp.Client[] those of the user
local function clients(buf, method)
  return vim.tbl_filter(function(client)
    return client.name ~= "sould"
  end, vim.lsp.get_clients({ bufnr = buf, method = method }))
end

local without = {} ---@type table<string, boolean> types of files that no server came for

---The language servers of a buffer that know a method. One that is being started is waited for, in a Neovim that has others: an
---agent's writes wait for what is reported, and one without servers must not hold them up.
---@param buf integer
---@param method? string
---@return vim.lsp.Client[]
function M.servers(buf, method)
  local filetype, stop = vim.bo[buf].filetype, vim.uv.now() + FOR_A_SERVER_MS
  while #clients(buf) == 0 and #clients() > 0 and not without[filetype] and vim.uv.now() < stop do
    wait("LspAttach", buf, stop - vim.uv.now())
    if not vim.api.nvim_buf_is_valid(buf) then
      M.fail("not_found", "The buffer was closed.")
    end
  end
  without[filetype] = (#clients() > 0 and #clients(buf) == 0) or nil
  return clients(buf, method)
end

---Asks each of these servers. Fails when none of them has a result to give, because of errors.
---@param servers vim.lsp.Client[]
---@param buf integer?
---@param method string
---@param params fun(client: vim.lsp.Client): table
---@return { client: vim.lsp.Client, result: any }[] answers those with a result
function M.ask(servers, buf, method, params)
  if #servers == 0 then
    M.fail("not_supported", ("No language server in this Neovim answers %s for the file."):format(method))
  end
  local routine, waiting, left = coroutine.running(), false, #servers
  local answers, problem = {}, nil
  local function one_less()
    left = left - 1
    if left == 0 and waiting then
      coroutine.resume(routine)
    end
  end
  for _, client in ipairs(servers) do
    local sent = lsp.call(client, "request", method, params(client), function(wrong, result)
      problem = problem or wrong
      if result ~= nil and result ~= vim.NIL then
        table.insert(answers, { client = client, result = result })
      end
      one_less()
    end, buf)
    if not sent then
      one_less()
    end
  end
  if left > 0 then
    local timer = vim.defer_fn(function()
      if left > 0 then
        left, problem = -1, { message = "the language server does not answer", code = "busy" }
        coroutine.resume(routine)
      end
    end, FOR_AN_ANSWER_MS)
    waiting = true
    coroutine.yield()
    if not timer:is_closing() then
      timer:close()
    end
  end
  if #answers == 0 and problem then
    M.fail(problem.code == "busy" and "busy" or "failed", tostring(problem.message))
  end
  return answers
end

---A place of a call as a server wants it.
---@param buf integer
---@param at { line: integer, column: integer }
---@param client vim.lsp.Client
---@return table params
function M.position(buf, at, client)
  local line = vim.api.nvim_buf_get_lines(buf, at.line - 1, at.line, false)[1] or ""
  local bytes = place.bytes(line, "utf-16", at.column - 1)
  return {
    textDocument = { uri = vim.uri_from_bufnr(buf) },
    position = { line = at.line - 1, character = place.character(line, client.offset_encoding, bytes) },
  }
end

return M
