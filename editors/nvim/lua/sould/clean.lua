--- Texts of models, repositories and servers, as a question may show them: each character that prints nothing, or turns
--- the line around, is a mark such as `\u202e`. Pure.
local M = {}

---From and to: what prints nothing, what changes the direction, blanks that look like others, what Unicode leaves open.
-- stylua: ignore
local HIDDEN = {
  { 0x80, 0xa0 }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x1680, 0x1680 },
  { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x2000, 0x200f }, { 0x2028, 0x202f }, { 0x205f, 0x206f },
  { 0x2800, 0x2800 }, { 0x3000, 0x3000 }, { 0x3164, 0x3164 }, { 0xd800, 0xf8ff }, { 0xfe00, 0xfe0f },
  { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0xe0000, 0xe0fff }, { 0xf0000, 0x10ffff },
}

---@param char string
---@return string? mark
local function mark(char)
  local code = vim.fn.char2nr(char, true)
  for _, range in ipairs(code >= 0x80 and HIDDEN or {}) do
    if range[1] <= code and code <= range[2] then
      return ("\\u%04x"):format(code)
    end
  end
  return code < 0x80 and ("\\u%04x"):format(code) or nil
end

---A text with its lines.
---@param text string
---@return string
function M.text(text)
  text = text:gsub("\r\n", "\n"):gsub("[%z\1-\8\11-\31\127]", mark)
  return (text:gsub("[\194-\244][\128-\191]+", mark))
end

---A text as one line.
---@param text string
---@return string
function M.line(text)
  return (M.text(text):gsub("%s*\n%s*", " "))
end

return M
