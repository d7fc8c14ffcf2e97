-- `:Sould`, the `<Plug>` mappings and the colours, with or without `setup()`. No key and no process.
if vim.g.loaded_sould or vim.fn.has("nvim-0.10") == 0 then
  return
end
vim.g.loaded_sould = true

require("sould.highlights").setup()
require("sould.keys").plugs()

vim.api.nvim_create_user_command("Sould", function(called)
  require("sould.commands").run(called)
end, {
  nargs = "*",
  range = true,
  desc = "sould: review what the agent changed, and talk to it",
  complete = function(lead, line)
    return require("sould.commands").complete(lead, line)
  end,
})

vim.api.nvim_create_autocmd({ "WinScrolled", "BufWinEnter" }, {
  group = vim.api.nvim_create_augroup("sould_sight", {}),
  callback = function()
    local draw = package.loaded["sould.review.draw"]
    if draw then
      draw.in_sight()
    end
  end,
})
