--- What the user's tools report about lines of a buffer, in the words of the language server protocol. Pure.
local M = {}

---@param buf integer
---@param first? integer from 1; without it, all of the buffer
---@param last? integer included
---@return table[] diagnostics; those of our own are left out
function M.of(buf, first, last)
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(buf)) do
    local stop = math.max(each.end_lnum or each.lnum, each.lnum)
    local here = not first or (each.lnum < last and stop >= first - 1)
    if here and each.source ~= "sould" then
      table.insert(found, {
        message = each.message,
        severity = each.severity,
        source = each.source,
        code = each.code,
        range = {
          start = { line = each.lnum, character = each.col },
          ["end"] = { line = stop, character = each.end_col or each.col },
        },
      })
    end
  end
  return found
end

---Lines as a range.
---@param first integer from 1
---@param last integer included
---@return table
function M.lines(first, last)
  return { start = { line = first - 1, character = 0 }, ["end"] = { line = last, character = 0 } }
end

return M
