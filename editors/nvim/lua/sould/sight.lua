--- Whether the end of what a question is about is before its user: an answer that allows something waits for that.
local M = {}

---@param buf integer
---@param row integer from 0
---@return integer
local function width(buf, row)
  return #vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
end

---Whether a window of this tab shows the end of a line.
---@param buf integer
---@param row integer from 0
---@return boolean
function M.shows(buf, row)
  vim.cmd.redraw() -- where what was not drawn stands is not known
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(window) == buf then
      local at = vim.fn.screenpos(window, row + 1, math.max(width(buf, row), 1))
      local fold = vim.api.nvim_win_call(window, function()
        return vim.fn.foldclosed(row + 1)
      end)
      if at.row > 0 and fold == -1 then
        return true
      end
    end
  end
  return false
end

---Has the windows of this tab that show a buffer show the end of a line.
---@param buf integer
---@param row integer from 0
function M.show(buf, row)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(window) == buf then
      vim.api.nvim_win_set_cursor(window, { row + 1, width(buf, row) })
    end
  end
end

return M
