--- Neovim before 0.10: the language server alone, as any LSP editor has it: code lenses, code actions, commands.
---
--- Uses what Neovim 0.7 has and nothing newer, and draws nothing itself.
local config = require("sould.config")

local M = {}

local client ---@type integer?

local COMMANDS = {
  keep = "sould.keep",
  reject = "sould.reject",
  undo = "sould.undo",
  next = "sould.next",
  prompt = "sould.prompt",
  steer = "sould.steer",
  cancel = "sould.cancel",
  sessions = "sould.session",
  answer = "sould.answer",
}

---@param path string
---@return string
local function root_of(path)
  local git = vim.fn.finddir(".git", vim.fn.fnamemodify(path, ":h") .. ";")
  return git ~= "" and vim.fn.fnamemodify(git, ":p:h:h") or vim.fn.getcwd()
end

---@param buf integer
local function lenses(buf)
  if vim.api.nvim_get_current_buf() == buf then
    vim.lsp.codelens.refresh()
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
      flags = { debounce_text_changes = 50 },
      on_exit = function()
        client = nil
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

---`:Sould`: the server's command of that name, about the line of the cursor.
---@param called table
function M.run(called)
  local name, text = called.args:match("^(%S+)%s*(.-)%s*$")
  local command = COMMANDS[name or ""]
  if not command or not client then
    vim.notify(
      "sould: "
        .. (client and "before Neovim 0.10 there is only " .. table.concat(M.complete(""), ", ") or "not connected")
    )
    return
  end
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  local argument = { uri = vim.uri_from_bufnr(0), line = line, text = text ~= "" and text or nil }
  vim.lsp.buf_request(0, "workspace/executeCommand", { command = command, arguments = { argument } }, function(problem)
    if problem then
      vim.notify("sould: " .. problem.message, vim.log.levels.WARN)
    end
  end)
end

---@param lead string
---@return string[]
function M.complete(lead)
  local found = vim.tbl_keys(COMMANDS)
  table.sort(found)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, found)
end

return M
