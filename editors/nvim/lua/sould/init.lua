--- sould in Neovim: what `require("sould")` offers. Each function is one line over the module that does it.
local M = {}

---Starts the plugin. Options: `:help sould-options`. No key is mapped unless `keys` asks for it.
---@param options? table
function M.setup(options)
  require("sould.config").set(options)
  if vim.fn.has("nvim-0.10") == 0 then
    vim.notify("sould: this plugin needs Neovim 0.10 or newer; docs/editors/lsp.md has settings for this one", 3)
    return
  end
  require("sould.keys").setup()
  require("sould.lsp").setup()
end

---A few words for a status line; empty where there is nothing to say.
---@return string
function M.statusline()
  return vim.fn.has("nvim-0.10") == 1 and require("sould.status").line() or ""
end

---What `statusline` is made of, for a status line of one's own.
---@return sould.Status
function M.status()
  return require("sould.status").get()
end

return M
