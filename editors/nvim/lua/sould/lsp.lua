--- The connection that reviews: one `sould lsp` for each project of this Neovim, started and started again here.
---
--- It reports buffers by LSP's own means and answers what the server asks. It decides nothing and draws nothing.
local config = require("sould.config")
local inbox = require("sould.inbox.told")
local message = require("sould.message")
local state = require("sould.review.state")
local status = require("sould.status")

local M = {}

local NEW = vim.fn.has("nvim-0.11") == 1
local FIRST_WAIT_MS, LONGEST_WAIT_MS = 500, 30000
local GIVE_UP_AFTER = 8

---@class sould.Project
---@field root string
---@field client? integer the id of its LSP client
---@field failures integer in a row, without a connection between them
---@field ended? boolean the user ended it

local projects = {} ---@type table<string, sould.Project>

---@class sould.Root
---@field folder string
---@field is_project boolean else it is only where the file lies, and no connection is made for it unasked

local roots = {} ---@type table<string, sould.Root> by path: a status line asks for each screen

---@param path string
---@return sould.Root
local function find_root(path)
  local own = config.options.root
  local found = own and own(path)
  if found then
    return { folder = vim.fs.normalize(found), is_project = true }
  end
  local git = vim.fs.root(path, ".git")
  if git then
    return { folder = git, is_project = true }
  end
  local here = vim.fs.normalize(vim.uv.cwd() or ".")
  local below = vim.startswith(path, here .. "/")
  return { folder = below and here or vim.fs.dirname(path), is_project = below }
end

---@param path string
---@return sould.Root
local function place_of(path)
  roots[path] = roots[path] or find_root(path)
  return roots[path]
end

---@param buf integer
---@return sould.Root
local function place_of_buffer(buf)
  local path = vim.api.nvim_buf_get_name(buf)
  local has_file = path ~= "" and vim.bo[buf].buftype == ""
  return place_of(vim.fs.normalize(has_file and path or (vim.uv.cwd() or ".") .. "/."))
end

---The project of a buffer with a file; for others that of the working directory.
---@param buf integer
---@return string
function M.root(buf)
  return place_of_buffer(buf).folder
end

---@param project sould.Project
---@return vim.lsp.Client?
local function client_of(project)
  return project.client and vim.lsp.get_client_by_id(project.client) or nil
end

---Calls a method of a client in the way of this Neovim.
---@param client vim.lsp.Client
---@param name string
---@param ... any
---@return any
function M.call(client, name, ...)
  if NEW then
    return client[name](client, ...)
  end
  return client[name](...)
end

---Asks the project's server. `done` gets the error's words, or nil and the result. Tells when there is no connection.
---@param root string
---@param method string
---@param params table
---@param done fun(problem: string?, result: any)
function M.request(root, method, params, done)
  local project = projects[root]
  local client = project and client_of(project)
  if not client then
    done("there is no connection to sould; :Sould start makes one")
    return
  end
  local sent = M.call(client, "request", method, params, function(problem, result)
    done(problem and (problem.message or vim.inspect(problem)) or nil, result)
  end)
  if not sent then
    done("there is no connection to sould at the moment")
  end
end

---Tells the project's server, if there is a connection.
---@param root string
---@param method string
---@param params table
function M.notify(root, method, params)
  local project = projects[root]
  local client = project and client_of(project)
  if client and client.initialized then
    M.call(client, "notify", method, params)
  end
end

---Runs one of the server's commands.
---@param root string
---@param command string
---@param argument table
---@param done? fun(result: any)
function M.execute(root, command, argument, done)
  local params = { command = command, arguments = { argument } }
  M.request(root, "workspace/executeCommand", params, function(problem, result)
    if problem then
      message.warn(problem)
    elseif done then
      done(result)
    end
  end)
end

local held ---@type { notify: function, method: string, params: table }[]?

---Tells the server what `does` changes in a document as one change: the next one that it is told is the whole to it.
---@generic T
---@param does fun(): T
---@return T
function M.as_one(does)
  held = {}
  local fine, result = pcall(does)
  local kept, changed = held, {} ---@type table[], table<string, table>
  held = nil
  local sent = {}
  for _, each in ipairs(kept) do
    local uri = each.method == "textDocument/didChange" and each.params.textDocument.uri
    if uri and changed[uri] then
      vim.list_extend(changed[uri].contentChanges, each.params.contentChanges)
      changed[uri].textDocument.version = each.params.textDocument.version
    else
      changed[uri or ""] = each.params
      table.insert(sent, each)
    end
  end
  for _, each in ipairs(sent) do
    each.notify(each.method, each.params)
  end
  if not fine then
    error(result, 0)
  end
  return result
end

---@param client vim.lsp.Client
local function make_holdable(client)
  local notify = client.rpc.notify
  client.rpc.notify = function(method, params)
    if held then
      table.insert(held, { notify = notify, method = method, params = params })
      return true
    end
    return notify(method, params)
  end
end

---@param project sould.Project
local function subscribe(project)
  M.request(project.root, "_sould/review/subscribe", { cwd = project.root }, function(problem, listed)
    if problem then
      message.once("subscribe", problem)
    else
      state.replace(project.root, listed)
    end
  end)
end

---Asks for the whole list again: what was told was incomplete.
---@param root string
function M.refresh(root)
  M.request(root, "_sould/review/list", { cwd = root }, function(problem, listed)
    if not problem then
      state.replace(root, listed)
    end
  end)
end

---@param client vim.lsp.Client
local function open_again(client)
  for buf in pairs(client.attached_buffers) do
    vim.lsp.buf_detach_client(buf, client.id)
    vim.lsp.buf_attach_client(buf, client.id)
  end
end

---What the server may ask and tell beyond LSP.
---@param project sould.Project
---@return table<string, lsp.Handler>
local function handlers(project)
  return {
    ["_sould/review/changed"] = function(_, told)
      if state.changed(project.root, told) then
        M.refresh(project.root)
      end
    end,
    ["_sould/review/write"] = function(_, asked)
      return M.as_one(function()
        return require("sould.review.write").answer(asked)
      end)
    end,
    ["_sould/review/forgotten"] = function()
      local client = client_of(project)
      if client then
        open_again(client)
        subscribe(project)
      end
    end,
    ["_sould/editor/call"] = function(_, asked)
      return require("sould.tools").answer(asked)
    end,
    ["_sould/editor/forgotten"] = function()
      require("sould.tools.window").tell(project.root)
    end,
    ["$/progress"] = function(problem, told, context)
      status.turn(project.root, told.token, told.value.kind ~= "end")
      return vim.lsp.handlers["$/progress"](problem, told, context)
    end,
    ["window/showMessageRequest"] = function(_, asked)
      return require("sould.inbox").wait_for(asked)
    end,
    ["_sould/inbox/changed"] = function(_, told)
      inbox.changed(project.root, told)
    end,
    ["_sould/message/withdrawn"] = function(_, told)
      require("sould.inbox").withdraw(told.token)
    end,
    ["window/showMessage"] = function(_, told)
      message.say(told.message, told.type <= 2 and vim.log.levels.WARN or vim.log.levels.INFO)
    end,
    ["window/showDocument"] = function(problem, asked, context)
      if asked.takeFocus then
        return vim.lsp.handlers["window/showDocument"](problem, asked, context)
      end
      return { success = require("sould.review.move").visible(vim.uri_to_fname(asked.uri)) }
    end,
  }
end

local connect ---@type fun(project: sould.Project)

---@param project sould.Project
---@param code integer
local function exited(project, code)
  project.client = nil
  state.lost(project.root)
  status.forget_turns(project.root)
  inbox.lost(project.root)
  if project.ended or vim.v.exiting ~= vim.NIL then
    status.set(project.root, "off")
    return
  end
  project.failures = project.failures + 1
  if project.failures > GIVE_UP_AFTER then
    status.set(project.root, "off")
    message.warn(("sould ends at once (exit code %d): see :checkhealth sould, then :Sould start"):format(code))
    return
  end
  status.set(project.root, "reconnecting")
  local wait = math.min(FIRST_WAIT_MS * 2 ^ (project.failures - 1), LONGEST_WAIT_MS)
  vim.defer_fn(function()
    if not project.client and not project.ended then
      connect(project)
    end
  end, wait)
end

---@param project sould.Project
---@return vim.lsp.ClientConfig
local function settings(project)
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = { sould = { writes = true, review = true, withdraws = true, inbox = true } }
  return {
    name = "sould",
    cmd = config.line("lsp"),
    root_dir = project.root,
    workspace_folders = { { uri = vim.uri_from_fname(project.root), name = vim.fs.basename(project.root) } },
    capabilities = capabilities,
    init_options = { sould = { lenses = false } }, -- hunks are drawn here
    handlers = handlers(project),
    flags = { debounce_text_changes = 0 },
    on_init = function(client)
      make_holdable(client)
      project.failures = 0
      message.forget("missing")
      status.set(project.root, "connected")
      subscribe(project)
      require("sould.inbox")
      inbox.follow(project.root)
      vim.schedule(function()
        require("sould.tools.window").tell(project.root)
      end)
    end,
    -- After this the client is taken off the list; a new one with the same root must find it gone.
    on_exit = vim.schedule_wrap(function(code)
      vim.schedule(function()
        exited(project, code)
      end)
    end),
  }
end

---@param buf integer
---@return boolean
local function reviewable(buf)
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ""
    and not (vim.b[buf].sould_hidden and vim.fn.bufwinid(buf) == -1) -- loaded for an editor tool
    and vim.api.nvim_buf_get_name(buf) ~= ""
    and not vim.api.nvim_buf_get_name(buf):match("^%a[%w+.-]*://")
end

connect = function(project)
  if vim.fn.executable(config.options.command[1]) == 0 then
    status.set(project.root, "off")
    message.once(
      "missing",
      ("%s is not there, or not in PATH; see :checkhealth sould"):format(config.options.command[1])
    )
    return
  end
  project.ended = nil
  local made = settings(project)
  -- `vim.lsp.start` in 0.10 attaches the current buffer, whatever it is.
  local id = NEW and vim.lsp.start(made, { attach = false }) or vim.lsp.start_client(made)
  if not id then
    status.set(project.root, "off")
    return
  end
  project.client = id
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if reviewable(buf) and M.root(buf) == project.root then
      vim.lsp.buf_attach_client(buf, id)
      require("sould.review.draw").watch(buf)
    end
  end
end

local function focused()
  for root in pairs(projects) do
    M.notify(root, "_sould/review/report", { event = "focus", cwd = root })
  end
end

local begun = false

---Follows what is opened, from the first connection on.
local function begin()
  if begun then
    return
  end
  begun = true
  local group = vim.api.nvim_create_augroup("sould_lsp", {})
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "FileType" }, {
    group = group,
    callback = function(event)
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(event.buf) and (config.options.autostart or M.connected(M.root(event.buf))) then
          M.attach(event.buf)
        end
      end)
    end,
  })
  vim.api.nvim_create_autocmd("FocusGained", { group = group, callback = focused })
  require("sould.review.comments")
  require("sould.tools.window").setup()
  state.watch(status.review)
end

---The project of this directory, connected if it can be.
---@param root string
---@return sould.Project
function M.ensure(root)
  begin()
  local project = projects[root]
  if not project then
    project = { root = root, failures = 0 }
    projects[root] = project
  end
  if not project.client and status.of(root) ~= "reconnecting" then
    connect(project)
  end
  return project
end

---Attaches a buffer that has a file in a project.
---@param buf integer
function M.attach(buf)
  local place = place_of_buffer(buf)
  if not reviewable(buf) or not (place.is_project or projects[place.folder]) then
    return
  end
  local project = M.ensure(place.folder)
  if project.client and not vim.lsp.buf_is_attached(buf, project.client) then
    vim.lsp.buf_attach_client(buf, project.client)
  end
  require("sould.review.draw").watch(buf)
  require("sould.review.draw").render(buf)
end

---Connects the project of the current buffer, whatever happened before.
function M.start()
  local root = M.root(0)
  local project = projects[root]
  if project then
    project.failures = 0
    status.set(root, "off")
  end
  M.ensure(root)
end

---Ends the connections; sould itself, and its turns, go on.
function M.stop()
  for _, project in pairs(projects) do
    project.ended = true
    local client = client_of(project)
    if client then
      M.call(client, "stop")
    end
  end
end

---@return sould.Project[]
function M.projects()
  return vim.tbl_values(projects)
end

---@return boolean
function M.connected(root)
  local project = projects[root]
  local client = project and client_of(project)
  return client ~= nil and client.initialized == true
end

---Attaches what is open, and what will be.
function M.setup()
  begin()
  for _, buf in ipairs(config.options.autostart and vim.api.nvim_list_bufs() or {}) do
    M.attach(buf)
  end
end

return M
