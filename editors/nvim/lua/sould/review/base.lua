--- A file beside what its user accepted last, in Neovim's own diff mode.
local lsp = require("sould.lsp")
local message = require("sould.message")
local state = require("sould.review.state")

local M = {}

---Opens the accepted text in a split of its own, beside the current window, which keeps the focus.
function M.open()
  local path, filetype, window = state.path(0), vim.bo.filetype, vim.api.nvim_get_current_win()
  lsp.request(lsp.root(0), "_sould/review/base", { path = path }, function(problem, result)
    if problem or type(result.text) ~= "string" then
      message.say(problem or "nothing in this file is under review")
      return
    end
    if not vim.api.nvim_win_is_valid(window) then
      return
    end
    local buf = vim.api.nvim_create_buf(false, true)
    local text = result.text:gsub("\r\n", "\n"):gsub("\n$", "")
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, "\n", { plain = true }))
    vim.bo[buf].filetype, vim.bo[buf].modifiable, vim.bo[buf].bufhidden = filetype, false, "wipe"
    vim.api.nvim_win_call(window, function()
      vim.cmd.diffthis()
    end)
    local beside = vim.api.nvim_open_win(buf, false, { split = "left", win = window })
    vim.api.nvim_win_call(beside, function()
      vim.cmd.diffthis()
    end)
  end)
end

return M
