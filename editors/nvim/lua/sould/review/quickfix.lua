--- All hunks of a project as a quickfix list, renewed while it is there. The list never opens by itself.
local lsp = require("sould.lsp")
local state = require("sould.review.state")

local M = {}

local list = { id = 0, root = "" }

---@param hunk sould.Hunk
---@return string
function M.describe(hunk)
  local first = hunk.lines[1] and hunk.lines[1].text or hunk.base[1] or ""
  local what = hunk.kind == "text" and ("+%d -%d  %s"):format(#hunk.lines, #hunk.base, vim.trim(first))
    or (hunk.kind:gsub("_", " "))
  return ("#%d %s"):format(hunk.id, what)
end

---@param root string
---@return table[]
local function items(root)
  local found = {}
  for _, file in ipairs(state.files(root)) do
    for _, hunk in ipairs(file.hunks) do
      table.insert(found, {
        filename = file.path,
        lnum = hunk.start + 1,
        end_lnum = math.max(hunk.start + #hunk.lines, hunk.start + 1),
        text = M.describe(hunk),
        type = "I",
        user_data = { sould_hunk = hunk.id },
      })
    end
  end
  return found
end

---Makes the list of the current project and shows it.
function M.open()
  list.root = lsp.root(0)
  lsp.ensure(list.root)
  vim.fn.setqflist({}, " ", { title = "sould: hunks to review", items = items(list.root) })
  list.id = vim.fn.getqflist({ id = 0 }).id
  vim.cmd("botright copen")
end

---The hunk of the line at the cursor, in the window of the list.
---@return string? root
---@return sould.Hunk?
function M.at_cursor()
  if vim.bo.buftype ~= "quickfix" or vim.fn.getqflist({ id = 0 }).id ~= list.id then
    return
  end
  local item = vim.fn.getqflist()[vim.api.nvim_win_get_cursor(0)[1]]
  local data = item and item.user_data
  return list.root, type(data) == "table" and state.hunk(list.root, data.sould_hunk) or nil
end

state.watch(function(root)
  if root == list.root and list.id ~= 0 and vim.fn.getqflist({ id = list.id }).id == list.id then
    local index = vim.fn.getqflist({ id = list.id, idx = 0 }).idx
    local now = items(root)
    vim.fn.setqflist({}, "r", { id = list.id, items = now, idx = math.min(index, math.max(#now, 1)) })
  end
end)

return M
