--- What waits for an answer, in all projects: sessions anywhere, and questions of the server to this Neovim.
---
--- Opens on a command of the user's only. A question never takes the focus; it waits here.
local config = require("sould.config")
local keys = require("sould.keys")
local message = require("sould.message")
local status = require("sould.status")

local M = {}

local NAME = "sould://inbox"

---@class sould.Option
---@field name string
---@field take fun(words: string)

---@class sould.Item
---@field title string
---@field about string
---@field lines string[]
---@field options sould.Option[]

---@class sould.Asking
---@field message string
---@field actions { title: string }[]
---@field answer fun(action: any)

local asking = {} ---@type sould.Asking[]
local items = {} ---@type sould.Item[]
local rows = {} ---@type table<integer, { item: sould.Item, option: integer? }>

---Has the server's question wait until it is answered here. Only in a coroutine, as handlers of requests are.
---@param asked { message: string, actions: table[]? }
---@return any the action, or vim.NIL
function M.wait_for(asked)
  local routine = coroutine.running()
  if not asked.actions or #asked.actions == 0 then
    message.say(asked.message)
    return vim.NIL
  end
  local entry = { message = asked.message, actions = asked.actions }
  function entry.answer(action)
    asking = vim.tbl_filter(function(each)
      return each ~= entry
    end, asking)
    status.asked(#asking)
    coroutine.resume(routine, action)
  end
  table.insert(asking, entry)
  status.asked(#asking)
  message.say(asked.message:match("^[^\n]*") .. " (:Sould inbox)")
  return coroutine.yield()
end

---@return integer
local function buffer()
  local buf = vim.fn.bufnr("^" .. NAME .. "$")
  if buf > 0 then
    return buf
  end
  buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, NAME)
  vim.bo[buf].filetype, vim.bo[buf].modifiable = "markdown", false
  keys.chat(buf)
  return buf
end

---@param ... string
local function run(...)
  vim.system(config.line(...), { text = true }, function(result)
    local said = vim.trim((result.stdout or "") .. (result.stderr or ""))
    if said ~= "" then
      message.say(said, result.code ~= 0 and vim.log.levels.WARN or nil)
    end
    vim.schedule(M.refresh)
  end)
end

---@param waiting table as `sould status --json` says it
---@return sould.Option[]
local function options_of(waiting)
  if waiting.kind == "approval" then
    local function approve(...)
      local more = { ... }
      return function()
        run("approve", waiting.id, unpack(more))
      end
    end
    local options = { { name = "Allow once", take = approve() } }
    if waiting.scope ~= "" then
      table.insert(options, { name = "Allow for this session: " .. waiting.scope, take = approve("--for-session") })
    end
    table.insert(options, {
      name = "Reject (`:Sould answer N words` tells the agent why)",
      take = function(words)
        if words == "" then
          run("reject", waiting.id)
        else
          run("reject", waiting.id, "--because", words)
        end
      end,
    })
    return options
  end
  local options = {}
  local question = #waiting.questions == 1 and waiting.questions[1]
  for index, option in ipairs(question and question.options or {}) do
    table.insert(options, {
      name = option,
      take = function(words)
        run("answer", waiting.id, vim.trim(index .. " " .. words))
      end,
    })
  end
  table.insert(options, {
    name = "In your words (`:Sould answer N words`)",
    take = function(words)
      run("answer", waiting.id, words)
    end,
  })
  return options
end

---@param told table?
local function gather(told)
  items = {}
  for _, entry in ipairs(asking) do
    local item = { title = entry.message:match("^[^\n]*"), about = "this Neovim", lines = {}, options = {} }
    item.lines = vim.list_slice(vim.split(entry.message, "\n"), 2)
    for _, action in ipairs(entry.actions) do
      table.insert(item.options, {
        name = action.title,
        take = function()
          entry.answer(action)
          M.refresh()
        end,
      })
    end
    table.insert(items, item)
  end
  for _, session in ipairs(told and told.sessions or {}) do
    for _, waiting in ipairs(session.waiting) do
      if waiting.kind ~= "program" then
        local project = vim.fn.fnamemodify(session.cwd, ":~")
        local item = { title = waiting.title, lines = waiting.lines, options = options_of(waiting) }
        item.about = ("%s, “%s”"):format(project, session.title)
        table.insert(items, item)
      end
    end
  end
end

---@param item sould.Item
---@param lines string[]
local function show(item, lines)
  local function add(line, option)
    table.insert(lines, line)
    rows[#lines] = { item = item, option = option }
  end
  add("## " .. item.title)
  add("")
  add(item.about)
  add("")
  for index, option in ipairs(item.options) do
    add(("%d. %s"):format(index, option.name), index)
  end
  add("")
  if #item.lines > 0 then
    add(item.lines[1]:match("^%-%-%- ") and "```diff" or "```")
    for _, line in ipairs(item.lines) do
      add(line)
    end
    add("```")
    add("")
  end
end

local function draw()
  local lines = { "# Inbox", "" }
  rows = {}
  for _, item in ipairs(items) do
    show(item, lines)
  end
  if #items == 0 then
    table.insert(lines, "Nothing waits for an answer.")
  end
  local buf = buffer()
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
end

---Looks again, if the inbox is shown.
function M.refresh()
  if #vim.fn.win_findbuf(buffer()) == 0 then
    return
  end
  vim.system(config.line("status", "--json"), { text = true }, function(result)
    vim.schedule(function()
      local fine, told = pcall(vim.json.decode, result.stdout or "")
      gather(fine and type(told) == "table" and told or nil)
      draw()
    end)
  end)
end

---Shows the inbox.
function M.open()
  local buf = buffer()
  local window = vim.fn.bufwinid(buf)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd("botright split")
    vim.api.nvim_win_set_buf(0, buf)
    vim.api.nvim_create_autocmd("WinClosed", {
      pattern = tostring(vim.api.nvim_get_current_win()),
      once = true,
      callback = vim.schedule_wrap(function()
        require("sould.chat.view").fit()
      end),
    })
  end
  M.refresh()
end

---Whether the cursor is in the inbox.
---@return boolean
function M.is_current()
  return vim.api.nvim_buf_get_name(0) == NAME
end

---Answers what is at the cursor in the inbox, with an option's number, or with the option at the cursor.
---@param number integer?
---@param words string
function M.answer(number, words)
  local row = rows[vim.api.nvim_win_get_cursor(0)[1]]
  if not row then
    message.say("there is no question at the cursor")
    return
  end
  local option = row.item.options[number or row.option]
  if option then
    option.take(words)
    return
  end
  vim.ui.select(row.item.options, {
    prompt = row.item.title,
    kind = "sould_answer",
    format_item = function(each)
      return each.name
    end,
  }, function(each)
    if each then
      each.take(words)
    end
  end)
end

return M
