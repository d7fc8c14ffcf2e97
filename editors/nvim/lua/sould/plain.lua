--- Neovim before 0.10: the language server alone, as any LSP editor has it: code lenses, code actions, commands.
---
--- Uses what Neovim 0.7 has and nothing newer, and draws nothing itself.
local config = require("sould.config")
local reported = require("sould.reported")

local M = {}

local client ---@type integer?
local ready = false -- a request for lenses before that would be the last one: Neovim 0.7 waits for its answer

local last = {} ---@type integer[] the hunks that were decided here

---@param path string
---@return string
local function root_of(path)
  local git = vim.fn.finddir(".git", vim.fn.fnamemodify(path, ":h") .. ";")
  return git ~= "" and vim.fn.fnamemodify(git, ":p:h:h") or vim.fn.getcwd()
end

---@param buf integer
local function lenses(buf)
  if ready and vim.api.nvim_get_current_buf() == buf then
    vim.lsp.codelens.refresh()
  end
end

---The agent changed something, or somebody decided: files that were written are read, and lenses renewed.
local function changed()
  if vim.fn.mode() == "n" then
    vim.cmd("silent! checktime")
  end
  local buf = vim.api.nvim_get_current_buf()
  if client and vim.lsp.buf_is_attached(buf, client) then
    lenses(buf)
  end
end

---@param buf integer
local function attach(buf)
  local path = vim.api.nvim_buf_get_name(buf)
  if path == "" or vim.api.nvim_buf_get_option(buf, "buftype") ~= "" then
    return
  end
  if not client then
    if vim.fn.executable(config.options.command[1]) == 0 then
      return
    end
    client = vim.lsp.start_client({
      name = "sould",
      cmd = config.line("lsp"),
      root_dir = root_of(path),
      handlers = { ["_sould/review/changed"] = changed },
      on_init = function(made)
        ready = true
        made.request("_sould/review/subscribe", { cwd = root_of(path) }, function() end)
      end,
      flags = { debounce_text_changes = 50 },
      on_exit = function()
        client, ready = nil, false
      end,
    })
  end
  if client then
    vim.lsp.buf_attach_client(buf, client)
  end
end

---Attaches what is open, and what will be; code lenses are renewed when the cursor rests and after each change.
function M.setup()
  if not config.options.autostart then
    return
  end
  local group = vim.api.nvim_create_augroup("sould_plain", {})
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile" }, {
    group = group,
    callback = function(event)
      attach(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd({ "CursorHold", "InsertLeave", "BufEnter", "TextChanged" }, {
    group = group,
    callback = function(event)
      if client and vim.lsp.buf_is_attached(event.buf, client) then
        lenses(event.buf)
      end
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      attach(buf)
    end
  end
end

---@param text string
local function say(text)
  vim.notify("sould: " .. text)
end

---@param method string
---@param params table
---@param done fun(result: any)
local function ask(method, params, done)
  vim.lsp.get_client_by_id(client).request(method, params, function(problem, result)
    if problem then
      say(problem.message)
    else
      done(result)
    end
  end, vim.api.nvim_get_current_buf())
end

---@param command string
---@param argument table
---@param done? fun(result: any)
local function execute(command, argument, done)
  argument.uri = vim.uri_from_bufnr(0)
  ask("workspace/executeCommand", { command = command, arguments = { argument } }, function(result)
    if done then
      done(result)
    end
  end)
end

---Does something with the hunk that the cursor is in, or beside, when only lines were removed.
---@param does fun(hunk: table)
local function at_cursor(does)
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  local path = vim.loop.fs_realpath(vim.api.nvim_buf_get_name(0)) or vim.api.nvim_buf_get_name(0)
  ask("_sould/review/list", { paths = { path } }, function(listed)
    for _, file in ipairs(listed.files) do
      for _, hunk in ipairs(file.hunks) do
        local stop = hunk.start + #hunk.lines
        if line >= hunk.start - (#hunk.lines == 0 and 1 or 0) and line < math.max(stop, hunk.start + 1) then
          does(hunk)
          return
        end
      end
    end
    say("there is no hunk here; :Sould next goes to one")
  end)
end

---@param verdict "keep"|"reject"
---@param words string
local function decide(verdict, words)
  if words == "file" or words == "all" then
    execute("sould." .. verdict .. (words == "file" and "File" or "All"), {})
    return
  end
  at_cursor(function(hunk)
    table.insert(last, hunk.id)
    local reason = words:match("^%-%s+(.*)$")
    execute("sould." .. verdict, { id = hunk.id, digest = hunk.digest, reason = reason })
  end)
end

local own = {} ---@type table<string, fun(words: string, called: table)>

function own.keep(words)
  decide("keep", words)
end

function own.reject(words)
  decide("reject", words)
end

function own.undo(words)
  local id = tonumber(words) or table.remove(last)
  if id then
    execute("sould.undo", { id = id })
  else
    say("nothing was decided here")
  end
end

function own.next()
  execute("sould.next", { line = vim.api.nvim_win_get_cursor(0)[1] - 1 }, function(found)
    if type(found) == "table" and found.range then
      vim.api.nvim_win_set_cursor(0, { found.range.start.line + 1, 0 })
    end
  end)
end

function own.why()
  at_cursor(function(hunk)
    execute("sould.why", { id = hunk.id })
  end)
end

function own.explain(words, called)
  execute("sould.explain", { range = reported.lines(called.line1, called.line2), text = words })
end

function own.edit(words, called)
  execute("sould.edit", { range = reported.lines(called.line1, called.line2), text = words })
end

function own.fix(words, called)
  local whole = words == "file"
  local found = whole and reported.of(0) or reported.of(0, called.line1, called.line2)
  if #found == 0 then
    say("nothing is reported here; :Sould fix file takes all")
    return
  end
  execute("sould.fix", { diagnostics = found, text = whole and "" or words })
end

---`:Sould`: what is written here, else the server's command of that name.
---@param called table
function M.run(called)
  local name, words = called.args:match("^(%S+)%s*(.-)%s*$")
  if not client then
    say("not connected")
  elseif own[name] then
    own[name](words, called)
  elseif vim.tbl_contains(M.complete(""), name) then
    execute("sould." .. name, { text = words ~= "" and words or nil })
  else
    say("before Neovim 0.10 there is only " .. table.concat(M.complete(""), ", "))
  end
end

---@param lead string
---@return string[]
function M.complete(lead)
  local found = vim.tbl_keys(own)
  local server = client and vim.lsp.get_client_by_id(client)
  local offered = server and server.server_capabilities and server.server_capabilities.executeCommandProvider
  for _, command in ipairs(offered and offered.commands or {}) do
    local name = command:match("^sould%.(.*)$")
    if name and not own[name] then
      table.insert(found, name)
    end
  end
  table.sort(found)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, found)
end

return M
