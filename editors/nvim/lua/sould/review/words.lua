--- Which words of two texts differ. Pure: strings in, byte ranges out.
local M = {}

local MOST_TOKENS = 4000
local COMMON_ENOUGH = 0.35

---@class sould.Span
---@field row integer from 0, within the lines given
---@field from integer byte
---@field to integer byte, not included

---@class sould.Token
---@field text string
---@field row integer
---@field from integer
---@field to integer

---@param lines string[] without their ends
---@return sould.Token[]
local function tokens(lines)
  local found = {} ---@type sould.Token[]
  for index, line in ipairs(lines) do
    local at = 1
    while at <= #line do
      local first, last = line:find("^[%w_\128-\255]+", at)
      if not first then
        first, last = line:find("^%s+", at)
      end
      last = first and last or at
      table.insert(found, { text = line:sub(at, last), row = index - 1, from = at - 1, to = last })
      at = last + 1
    end
    table.insert(found, { text = "\\n", row = index - 1, from = #line, to = #line })
  end
  return found
end

---@param found sould.Token[]
---@return string
local function joined(found)
  local texts = vim.tbl_map(function(token)
    return token.text
  end, found)
  return table.concat(texts, "\n") .. "\n"
end

---@param spans sould.Span[]
---@param found sould.Token[]
---@param first integer from 1
---@param count integer
local function mark(spans, found, first, count)
  for index = first, first + count - 1 do
    local token, last = found[index], spans[#spans]
    if token.from < token.to then
      if last and last.row == token.row and last.to == token.from then
        last.to = token.to
      else
        table.insert(spans, { row = token.row, from = token.from, to = token.to })
      end
    end
  end
end

---@param found sould.Token[]
---@return integer letters
local function weight(found)
  local sum = 0
  for _, token in ipairs(found) do
    sum = sum + (token.text:match("^[%w_\128-\255]") and #token.text or 0)
  end
  return sum
end

---The spans that differ, of the old lines and of the new ones; nothing when too little is common to be worth marking.
---@param old string[]
---@param new string[]
---@return sould.Span[]
---@return sould.Span[]
function M.differing(old, new)
  local a, b = tokens(old), tokens(new)
  if #old == 0 or #new == 0 or #a > MOST_TOKENS or #b > MOST_TOKENS then
    return {}, {}
  end
  local diff = vim.text and vim.text.diff or vim.diff
  local runs = diff(joined(a), joined(b), { result_type = "indices" }) --[[@as integer[][] ]]
  local gone, come = {}, {} ---@type sould.Span[], sould.Span[]
  for _, run in ipairs(runs) do
    mark(gone, a, run[1], run[2])
    mark(come, b, run[3], run[4])
  end
  local changed = 0
  for _, run in ipairs(runs) do
    changed = changed + weight(vim.list_slice(a, run[1], run[1] + run[2] - 1))
    changed = changed + weight(vim.list_slice(b, run[3], run[3] + run[4] - 1))
  end
  local all = weight(a) + weight(b)
  if all == 0 or (all - changed) / all < COMMON_ENOUGH then
    return {}, {}
  end
  return gone, come
end

return M
