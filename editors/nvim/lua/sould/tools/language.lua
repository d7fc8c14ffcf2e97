--- The tools that language servers of this Neovim answer. What is to be written is said, and not written.
local documents = require("sould.tools.documents")
local place = require("sould.tools.place")

local M = {}

local DEFINITION = {
  definition = "textDocument/definition",
  declaration = "textDocument/declaration",
  type = "textDocument/typeDefinition",
  implementation = "textDocument/implementation",
}

---@param uri string
---@return string?
local function file_of(uri)
  return vim.startswith(uri, "file:") and vim.uri_to_fname(uri) or nil
end

---@param kind integer
---@return string
local function kind_name(kind)
  return ((vim.lsp.protocol.SymbolKind[kind] or "unknown"):gsub("(%l)(%u)", "%1_%2"):lower())
end

---Asks about the place of a call.
---@param call sould.Call
---@param method string
---@param more? table parameters
---@return table[] answers
---@return integer buf
local function ask_at(call, method, more)
  return documents.with(call.arguments.file, function(buf)
    call:check(buf)
    return documents.ask(documents.servers(buf, method), buf, method, function(client)
      return vim.tbl_extend("force", documents.position(buf, call.at, client), more or {})
    end)
  end)
end

---@class sould.Found
---@field file string
---@field lines string[]
---@field range table
---@field whole table
---@field encoding string

---Places that servers answered with, each once, and only those in files.
---@param answers table[]
---@return sould.Found[]
local function locations(answers)
  local found, seen, texts = {}, {}, {}
  for _, answer in ipairs(answers) do
    local given = (answer.result.uri or answer.result.targetUri) and { answer.result } or answer.result
    for _, each in ipairs(given) do
      local file = file_of(each.uri or each.targetUri)
      local range = each.range or each.targetSelectionRange or each.targetRange
      local key = ("%s:%d:%d"):format(file, range.start.line, range.start.character)
      if file and not seen[key] then
        seen[key] = true
        texts[file] = texts[file] or documents.lines(file)
        local encoding = answer.client.offset_encoding
        table.insert(found, {
          file = file,
          lines = texts[file],
          range = range,
          whole = each.targetRange or range,
          encoding = encoding,
        })
      end
    end
  end
  return found
end

---@param call sould.Call
function M.definition(call)
  local answers = ask_at(call, DEFINITION[call.arguments.kind] or DEFINITION.definition)
  local data = vim.tbl_map(function(each)
    return {
      file = each.file,
      range = place.span(each.lines, each.range, each.encoding),
      preview = vim.trim(each.lines[each.range.start.line + 1] or ""),
      body = call.arguments.includeBody and place.slice(each.lines, each.whole, each.encoding) or nil,
    }
  end, locations(answers))
  return { data = { locations = data } }
end

---The uses among what was found. Left to servers, some list the declaration all the same, and some leave out what they were asked about.
---@param call sould.Call
---@param found sould.Found[]
---@return sould.Found[]
local function without_declaration(call, found)
  local fine, answers = pcall(ask_at, call, DEFINITION.definition)
  local declared = {}
  for _, each in ipairs(fine and locations(answers) or {}) do
    declared[("%s:%d"):format(each.file, each.range.start.line)] = each.range
  end
  return vim.tbl_filter(function(each)
    local range = declared[("%s:%d"):format(each.file, each.range.start.line)]
    return not range or range.start.character ~= each.range.start.character
  end, found)
end

---@param call sould.Call
function M.references(call)
  local found = locations(ask_at(call, "textDocument/references", { context = { includeDeclaration = true } }))
  if not call.arguments.includeDeclaration then
    found = without_declaration(call, found)
  end
  local groups, of = {}, {}
  for index, each in ipairs(found) do
    if index > (call.arguments.limit or 100) then
      break
    end
    if not of[each.file] then
      of[each.file] = { file = each.file, hits = {} }
      table.insert(groups, of[each.file])
    end
    local start = place.span(each.lines, each.range, each.encoding).start
    local text = vim.trim(each.lines[start.line] or "")
    table.insert(of[each.file].hits, { line = start.line, column = start.column, text = text })
  end
  return { data = { total = #found, groups = groups } }
end

---@param call sould.Call
function M.hover(call)
  local parts = {}
  for _, answer in ipairs(ask_at(call, "textDocument/hover")) do
    local lines = vim.lsp.util.convert_input_to_markdown_lines(answer.result.contents)
    local text = vim.trim(table.concat(lines, "\n"))
    if text ~= "" then
      table.insert(parts, text)
    end
  end
  if #parts == 0 then
    documents.fail("not_found", "The language server has nothing to say about this place.")
  end
  return { data = { markdown = table.concat(parts, "\n\n") } }
end

---@param call sould.Call
---@param kind string
---@return boolean
local function wanted(call, kind)
  local kinds = call.arguments.kinds or {}
  return #kinds == 0 or vim.tbl_contains(kinds, kind)
end

---@param call sould.Call
---@param text { file: string, lines: string[], encoding: string }
---@param given table[] DocumentSymbols, or SymbolInformation of older servers
---@param above string[]
---@param depth integer
---@param into table[]
local function outline(call, text, given, above, depth, into)
  for _, each in ipairs(given) do
    local names = vim.list_extend({}, above)
    local range = each.range or each.location.range
    if each.containerName and each.containerName ~= "" then
      table.insert(names, each.containerName)
    end
    table.insert(names, each.name)
    local kind = kind_name(each.kind)
    if wanted(call, kind) then
      table.insert(into, {
        name = each.name,
        namePath = table.concat(names, "/"),
        kind = kind,
        file = text.file,
        range = place.span(text.lines, range, text.encoding),
        selectionRange = each.selectionRange and place.span(text.lines, each.selectionRange, text.encoding),
        signature = each.detail,
        body = call.arguments.includeBody and place.slice(text.lines, range, text.encoding) or nil,
      })
    end
    if depth > 0 and each.children then
      outline(call, text, each.children, names, depth - 1, into)
    end
  end
end

---@param call sould.Call
---@return table[]
local function project_symbols(call)
  local servers = vim.tbl_filter(function(client)
    local root = client.name ~= "sould" and client.config.root_dir
    return root and vim.startswith(root .. "/", call.root .. "/") and true or false
  end, vim.lsp.get_clients({ method = "workspace/symbol" }))
  local answers = documents.ask(servers, nil, "workspace/symbol", function()
    return { query = call.arguments.query or "" }
  end)
  local found = {}
  for _, answer in ipairs(answers) do
    for _, each in ipairs(answer.result) do
      local file = file_of(each.location.uri)
      if file and each.location.range and #found < (call.arguments.limit or 100) then
        local lines = documents.lines(file)
        outline(call, { file = file, lines = lines, encoding = answer.client.offset_encoding }, { each }, {}, 0, found)
      end
    end
  end
  return found
end

---@param call sould.Call
function M.symbols(call)
  local file = call.arguments.file
  if not file or file == "" then
    return { data = { symbols = project_symbols(call) } }
  end
  return documents.with(file, function(buf)
    local method, found = "textDocument/documentSymbol", {}
    local answers = documents.ask(documents.servers(buf, method), buf, method, function()
      return { textDocument = { uri = vim.uri_from_bufnr(buf) } }
    end)
    local best = answers[1]
    if best then
      local text = { file = file, lines = documents.lines(file), encoding = best.client.offset_encoding }
      outline(call, text, best.result, {}, call.arguments.depth or 1, found)
    end
    return { data = { symbols = found } }
  end)
end

---@param file string
---@param edits table[] of a server
---@param encoding string
local function file_edits(file, edits, encoding)
  local lines, digest = documents.lines(file)
  return {
    file = file,
    digest = digest,
    edits = vim.tbl_map(function(each)
      return { range = place.span(lines, each.range, encoding), newText = each.newText }
    end, edits),
  }
end

---@param edit table a WorkspaceEdit
---@param encoding string
---@return table[] edits
local function workspace_edits(edit, encoding)
  local by_uri = edit.changes or {}
  if edit.documentChanges then
    by_uri = {}
    for _, each in ipairs(edit.documentChanges) do
      if each.kind then
        documents.fail("not_supported", "This would also create, move or delete files.")
      end
      by_uri[each.textDocument.uri] = vim.list_extend(by_uri[each.textDocument.uri] or {}, each.edits)
    end
  end
  local found = {}
  for uri, edits in pairs(by_uri) do
    local file = file_of(uri)
    if not file then
      documents.fail("not_supported", uri .. " is no file on the disk.")
    elseif #edits > 0 then
      table.insert(found, file_edits(file, edits, encoding))
    end
  end
  return found
end

---@param call sould.Call
function M.rename(call)
  local answer = ask_at(call, "textDocument/rename", { newName = call.arguments.newName })[1]
  local edits = answer and workspace_edits(answer.result, answer.client.offset_encoding) or {}
  if #edits == 0 then
    documents.fail("not_found", "The language server finds nothing to be renamed at this place.")
  end
  return { data = vim.empty_dict(), edits = edits }
end

---@param call sould.Call
function M.format(call)
  local given = call.arguments
  if given.organizeImports then
    documents.fail("not_supported", "Neovim formats without organizing imports.")
  end
  local method = given.startLine and "textDocument/rangeFormatting" or "textDocument/formatting"
  return documents.with(given.file, function(buf)
    local options = { tabSize = vim.lsp.util.get_effective_tabstop(buf), insertSpaces = vim.bo[buf].expandtab }
    local last = math.min(given.endLine or math.huge, vim.api.nvim_buf_line_count(buf))
    local range = given.startLine
      and { start = { line = given.startLine - 1, character = 0 }, ["end"] = { line = last, character = 0 } }
    local servers = vim.list_slice(documents.servers(buf, method), 1, 1)
    local answer = documents.ask(servers, buf, method, function()
      return { textDocument = { uri = vim.uri_from_bufnr(buf) }, options = options, range = range or nil }
    end)[1]
    local edits = answer and answer.result or {}
    local changes = #edits > 0 and { file_edits(given.file, edits, answer.client.offset_encoding) } or {}
    return { data = vim.empty_dict(), edits = changes }
  end)
end

return M
