--- Colours, as highlight groups that a colour scheme or the user may set; only what nobody set is set here.
local M = {}

local LINKS = {
  SouldUser = "Normal",
  SouldSignAdd = "Added",
  SouldSignChange = "Changed",
  SouldSignDelete = "Removed",
  SouldLabel = "Comment",
  SouldDecision = "Comment",
  SouldComment = "DiagnosticInfo",
  SouldQuestion = "DiagnosticWarn",
  SouldCard = "Comment",
}

---@param name string
---@return vim.api.keyset.hl_info
local function resolved(name)
  return vim.api.nvim_get_hl(0, { name = name, link = false })
end

---@param colour integer
---@param over integer
---@param part number how much of `colour`
---@return integer
local function blend(colour, over, part)
  local mixed = 0
  for shift = 16, 0, -8 do
    local a, b = math.floor(colour / 2 ^ shift) % 256, math.floor(over / 2 ^ shift) % 256
    mixed = mixed * 256 + math.floor(a * part + b * (1 - part) + 0.5)
  end
  return mixed
end

local own = {} ---@type table<string, integer> the backgrounds that were set here

---Sets a background, unless somebody else set the group.
---@param name string
---@param back integer
---@param terminal integer of the terminal's 256
local function set(name, back, terminal)
  local now = vim.api.nvim_get_hl(0, { name = name })
  if next(now) == nil or (now.bg ~= nil and now.bg == own[name]) then
    own[name] = back
    vim.api.nvim_set_hl(0, name, { bg = back, ctermbg = terminal })
  end
end

---Sets the groups: a background for lines, a stronger one for their words.
function M.set()
  local dark = vim.o.background == "dark"
  local back = resolved("Normal").bg or (dark and 0x14161b or 0xe0e2ea)
  local green, red, blue = 0x3fb950, 0xf85149, 0x58a6ff
  local line, word = dark and 0.18 or 0.25, dark and 0.42 or 0.5
  set("SouldAdd", blend(green, back, line), dark and 22 or 194)
  set("SouldAddWord", blend(green, back, word), dark and 28 or 157)
  set("SouldMixed", blend(blue, back, line), dark and 24 or 153)
  set("SouldDelete", blend(red, back, line), dark and 52 or 224)
  set("SouldDeleteWord", blend(red, back, word), dark and 88 or 217)
  set("SouldComing", blend(green, back, line / 2), dark and 22 or 194)
  set("SouldGoing", blend(red, back, line / 2), dark and 52 or 224)
  for name, target in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = target, default = true })
  end
end

local OWN = { "sould_chat", "sould_prompt", "sould_inbox" }

---Gives a buffer of ours its file type, and has it shown as Markdown: without what the user has for files of that.
---@param buf integer
---@param filetype "sould_chat"|"sould_prompt"|"sould_inbox"
function M.markdown(buf, filetype)
  vim.treesitter.language.register("markdown", OWN)
  vim.bo[buf].filetype = filetype
  if not pcall(vim.treesitter.start, buf, "markdown") then
    vim.bo[buf].syntax = "markdown"
  end
end

---Sets the groups now, after each change of the colour scheme and of 'background'.
function M.setup()
  M.set()
  local group = vim.api.nvim_create_augroup("sould_highlights", {})
  vim.api.nvim_create_autocmd("ColorScheme", { group = group, callback = M.set })
  vim.api.nvim_create_autocmd("OptionSet", { group = group, pattern = "background", callback = M.set })
end

return M
