--- The editor tools that this Neovim serves to agents, in one table. Writes nothing: what is to be written is sould's to write.
---
--- Loaded with the first connection. Requests are answered in coroutines, which wait for language servers.
local documents = require("sould.tools.documents")
local language = require("sould.tools.language")
local show = require("sould.tools.show")
local write = require("sould.review.write")

local M = {}

---@class sould.Call
---@field tool string
---@field arguments table as the catalogue has them
---@field root string
---@field at? { line: integer, column: integer }
---@field digest string of the text that `at` is a place of
local Call = {}
Call.__index = Call

---Fails when the text of a buffer is not the one that the call is about.
---@param buf integer
function Call:check(buf)
  if not self.at then
    documents.fail("invalid", "The call names no place.")
  elseif (self.digest or "") ~= "" and vim.fn.sha256(write.text(buf)) ~= self.digest then
    documents.fail("stale", "The file has changed since the call was made.")
  end
end

---@type table<string, fun(call: sould.Call): table>
local TOOLS = {
  editor_open = show.open,
  doc_save = show.save,
  doc_format = language.format,
  diagnostics = show.diagnostics,
  symbols = language.symbols,
  definition = language.definition,
  references = language.references,
  hover = language.hover,
  rename = language.rename,
}

---@return string[]
function M.names()
  local names = vim.tbl_keys(TOOLS)
  table.sort(names)
  return names
end

---Answers `_sould/editor/call`.
---@param asked sould.Call
---@return table
function M.answer(asked)
  local tool = TOOLS[asked.tool]
  if not tool then
    return { error = { code = "not_supported", message = "Neovim does not serve " .. tostring(asked.tool) .. "." } }
  end
  local fine, result = pcall(tool, setmetatable(asked, Call))
  if fine then
    return result
  elseif type(result) == "table" and result.code then
    return { error = result }
  end
  return { error = { code = "failed", message = tostring(result) } }
end

return M
