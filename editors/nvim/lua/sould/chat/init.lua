--- Chats: one conversation with the agent each, in one of its sessions, and what the user does with it.
---
--- Talks ACP over `sould.acp` and shows over `sould.chat.view`. Takes the focus on a command of the user's only.
local acp = require("sould.acp")
local clean = require("sould.clean")
local lsp = require("sould.lsp")
local message = require("sould.message")
local questions = require("sould.chat.questions")
local status = require("sould.status")
local updates = require("sould.chat.updates")
local views = require("sould.chat.view")

local M = {}

---@class sould.Chat
---@field root string
---@field view sould.View
---@field session string? the id
---@field title string
---@field turns integer that run or wait
---@field questions sould.Question[]
---@field calls table<string, table>
---@field options table[] what can be chosen
---@field commands table[]
---@field plans integer
---@field broken boolean the connection ended while it was open
---@field waiting fun()[] for the session to be there

local chats = {} ---@type sould.Chat[]
local current = {} ---@type table<string, sould.Chat>

---@param session string
---@return sould.Chat?
local function by_session(session)
  for _, chat in ipairs(chats) do
    if chat.session == session then
      return chat
    end
  end
end

local function tell_status()
  local working, waiting = false, 0
  for _, chat in ipairs(chats) do
    working = working or chat.turns > 0
    waiting = waiting + #chat.questions
  end
  status.chat(working, waiting)
end

---@param chat sould.Chat
---@param text string
local function note(chat, text)
  chat.view:add({ "*" .. text:gsub("\n", " ") .. "*" })
end

---@param chat sould.Chat
---@param result table of `session/new` or one of its like
local function opened(chat, result)
  chat.broken = false
  chat.options = result.configOptions or chat.options
  chat.view:name(updates.heading(chat))
  local waited = chat.waiting
  chat.waiting = {}
  for _, does in ipairs(waited) do
    does()
  end
end

---@param chat sould.Chat
---@param problem string
local function failed(chat, problem)
  chat.waiting, chat.turns = {}, 0
  note(chat, problem)
  message.warn(problem)
  tell_status()
end

---@param chat sould.Chat
---@param method string
---@param params table
local function open_session(chat, method, params)
  params.cwd, params.mcpServers = chat.root, {}
  acp.request(method, params, function(problem, result)
    if problem then
      failed(chat, problem)
      return
    end
    chat.session = chat.session or result.sessionId
    opened(chat, result)
  end)
end

---Does something with the session, once it is there.
---@param chat sould.Chat
---@param does fun()
local function with_session(chat, does)
  if chat.session and not chat.broken then
    does()
    return
  end
  table.insert(chat.waiting, does)
  if #chat.waiting > 1 then
    return
  end
  if chat.session then
    open_session(chat, "session/resume", { sessionId = chat.session })
  else
    open_session(chat, "session/new", {})
  end
end

---@param root string
---@return sould.Chat
local function new(root)
  local chat = {
    root = root,
    view = views.new(),
    title = "New session",
    turns = 0,
    plans = 0,
    questions = {},
    calls = {},
    options = {},
    commands = {},
    waiting = {},
    broken = false,
  }
  table.insert(chats, chat)
  current[root] = chat
  return chat
end

---The chat of the buffer, else the latest one of its project, else a new one.
---@return sould.Chat
local function here()
  local view = views.of(vim.api.nvim_get_current_buf())
  for _, chat in ipairs(chats) do
    if chat.view == view then
      return chat
    end
  end
  local root = lsp.root(0)
  return current[root] or new(root)
end

---Opens the chat of this project, or goes to it.
function M.open()
  local chat = here()
  chat.view:open(updates.heading(chat))
  with_session(chat, function() end)
end

---Begins another session in this project.
function M.new()
  local chat = new(here().root)
  chat.view:open(updates.heading(chat))
  with_session(chat, function() end)
end

---@param chat sould.Chat
---@param result table?
local function turn_ended(chat, result)
  chat.turns = math.max(chat.turns - 1, 0)
  chat.view:hush()
  local reason = result and result.stopReason
  local own = result and result._meta and result._meta.sould or {}
  if own.kind == "interrupted" then
    note(chat, own.details or "sould was stopped in the middle of this turn")
  elseif reason and reason ~= "end_turn" then
    note(chat, reason:gsub("_", " "))
  end
  tell_status()
end

---@param chat sould.Chat
---@param text string
local function prompt(chat, text)
  chat.view:hush()
  chat.view:speak("You")
  chat.view:add(vim.split(text, "\n", { plain = true }))
  chat.turns, chat.plans = chat.turns + 1, chat.plans + 1
  tell_status()
  with_session(chat, function()
    local params = { sessionId = chat.session, prompt = { { type = "text", text = text } } }
    acp.request("session/prompt", params, function(problem, result)
      if problem then
        note(chat, problem)
      end
      turn_ended(chat, result)
    end)
  end)
end

---Sends a prompt. During a turn it is queued.
---@param text string
function M.prompt(text)
  local chat = here()
  if vim.trim(text) == "" then
    message.say("there is nothing to send")
    return
  end
  prompt(chat, text)
  if not chat.view:visible() then
    message.say("sent; :Sould chat shows the answer")
  end
end

---Sends what was typed below the chat.
function M.send()
  local chat = here()
  M.prompt(chat.view:draft(true))
end

---Gives words to the running turn.
---@param text string
function M.steer(text)
  local chat = here()
  text = text ~= "" and text or chat.view:draft(true)
  if text == "" then
    message.say("there is nothing to send")
    return
  end
  with_session(chat, function()
    chat.view:add({ "*You, to the running turn:* " .. text:gsub("\n", " ") })
    local params = { sessionId = chat.session, prompt = { { type = "text", text = text } } }
    acp.request("_session/steering", params, function(problem)
      if problem then
        message.warn(problem)
      end
    end)
  end)
end

---Ends the running turn.
function M.cancel()
  local chat = here()
  if not chat.session then
    message.say("no turn runs")
    return
  end
  acp.notify("session/cancel", { sessionId = chat.session })
end

---@param id string of the option
---@return string[]
function M.values(id)
  for _, option in ipairs(here().options) do
    if option.id == id then
      return vim.tbl_map(function(each)
        return each.value
      end, option.options)
    end
  end
  return id == "mode" and { "plan", "ask", "review", "full" } or {}
end

---Chooses a value of an option, such as the mode or the model; without a value it asks.
---@param id string
---@param value string
function M.choose(id, value)
  local chat = here()
  with_session(chat, function()
    if value == "" then
      vim.ui.select(M.values(id), { prompt = "sould: " .. id, kind = "sould_" .. id }, function(choice)
        if choice then
          M.choose(id, choice)
        end
      end)
      return
    end
    local params = { sessionId = chat.session, configId = id, value = value }
    acp.request("session/set_config_option", params, function(problem, result)
      if problem then
        message.warn(problem)
      else
        chat.options = result.configOptions or chat.options
        chat.view:name(updates.heading(chat))
        if not chat.view:visible() then
          message.say(("%s: %s"):format(id, value))
        end
      end
    end)
  end)
end

---@param chat sould.Chat
---@param session { sessionId: string, title: string? }
local function load(chat, session)
  chat.session, chat.title = session.sessionId, session.title or "Session"
  chat.view:clear()
  table.insert(chat.waiting, function()
    chat.view:hush()
  end)
  open_session(chat, "session/load", { sessionId = session.sessionId })
end

---Lets the user pick one of the sessions of this project and opens it.
function M.sessions()
  local root = here().root
  acp.request("session/list", { cwd = root }, function(problem, result)
    if problem then
      message.warn(problem)
      return
    end
    vim.ui.select(result.sessions, {
      prompt = "sould: sessions",
      kind = "sould_session",
      format_item = function(session)
        local day = (session.updatedAt or ""):sub(1, 16):gsub("T", " ")
        return ("%s  %s"):format(day, clean.line(session.title or session.sessionId))
      end,
    }, function(session)
      if not session then
        return
      end
      local known = by_session(session.sessionId)
      if known then
        current[root] = known
        known.view:open(updates.heading(known))
      else
        local chat = new(root)
        load(chat, session)
        chat.view:open(updates.heading(chat))
      end
    end)
  end)
end

---The session that prompts of a project go to, where there is one.
---@param root string
---@return string?
function M.session(root)
  local chat = current[root]
  return chat and not chat.broken and chat.session or nil
end

---Has the chat of a session be that of its project, without opening a window. Tells what to do to see it.
---@param root string
---@param session string
function M.follow(root, session)
  local chat = by_session(session)
  if not chat then
    chat = new(root)
    load(chat, { sessionId = session })
  elseif chat.broken then
    with_session(chat, function() end)
  end
  current[root] = chat
  if not chat.view:visible() then
    message.say("asked; :Sould chat shows the answer")
  end
end

---The chat with a question: this one, else any.
---@return sould.Chat?
local function questioned()
  local chat = here()
  if #chat.questions > 0 then
    return chat
  end
  for _, each in ipairs(chats) do
    if #each.questions > 0 then
      return each
    end
  end
end

---Answers the question at the cursor, else the oldest: with an option's number and perhaps words; without a number,
---with the option at the cursor, or one that is picked.
---@param number integer?
---@param words string
function M.answer(number, words)
  local chat = questioned()
  if not chat then
    message.say("nothing waits for an answer here; :Sould inbox shows what does elsewhere")
    return
  end
  local question = chat.questions[1]
  if vim.api.nvim_get_current_buf() == chat.view.buf then
    local key = chat.view:at(vim.api.nvim_win_get_cursor(0)[1] - 1)
    for _, each in ipairs(chat.questions) do
      question = each.key == key and each or question
    end
    number = number or (key == question.key and tonumber(vim.api.nvim_get_current_line():match("^(%d+)%. ")) or nil)
  end
  if number then
    questions.reply(chat, question, number, words)
  else
    questions.pick(chat, question)
  end
end

---For 'omnifunc' of the prompt: the commands that the agent has.
---@param find integer
---@param base string
---@return integer|table[]
function M.complete(find, base)
  if find == 1 then
    local line = vim.api.nvim_get_current_line()
    return vim.startswith(line, "/") and not line:find(" ") and 0 or -3
  end
  local found = {}
  for _, command in ipairs(here().commands) do
    local word = "/" .. command.name
    if vim.startswith(word, base) then
      table.insert(found, { word = word, menu = command.description })
    end
  end
  return found
end

questions.watch(tell_status)

acp.on("session/update", function(params)
  local chat = by_session(params.sessionId)
  if chat then
    updates.show(chat, params.update)
  end
end)

acp.on("session/request_permission", function(params, id)
  local chat = by_session(params.sessionId)
  if not chat then
    acp.reply(id, { outcome = { outcome = "cancelled" } })
    return
  end
  questions.ask(chat, id, params)
end)

acp.on("$/cancel_request", function(params)
  local own = params._meta and params._meta.sould or {}
  for _, chat in ipairs(chats) do
    if questions.close(chat, params.requestId, own.reason or "no longer asked") then
      return
    end
  end
end)

acp.after_each_read(function()
  for _, chat in ipairs(chats) do
    chat.view:flush()
  end
end)

acp.on_exit(function()
  for _, chat in ipairs(chats) do
    chat.broken = chat.session ~= nil
    for _, question in ipairs(vim.list_extend({}, chat.questions)) do
      questions.settle(chat, question, "the connection ended")
    end
    chat.turns = 0
  end
  tell_status()
end)

return M
