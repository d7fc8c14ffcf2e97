-- Defines `:Sould`, and nothing else: no key, no process, no module is loaded before it is used.
if vim.g.loaded_sould then
  return
end
vim.g.loaded_sould = true

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
