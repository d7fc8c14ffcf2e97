--- `:Sould`: words to calls, one line each, and what can be completed.
local message = require("sould.message")

local M = {}

---@class sould.Call
---@field words string[] after the subcommand
---@field text string the same, as typed
---@field range boolean
---@field first integer
---@field last integer

---@class sould.Command
---@field run fun(call: sould.Call)
---@field about string
---@field complete? fun(): string[]

local function chat()
  return require("sould.chat")
end

local function lsp()
  return require("sould.lsp")
end

---@return string[]
local function hunk_numbers()
  local found = {}
  for _, file in ipairs(require("sould.review.state").files(lsp().root(0))) do
    for _, hunk in ipairs(file.hunks) do
      table.insert(found, tostring(hunk.id))
    end
  end
  return found
end

---@return string[]
local function numbers()
  return vim.list_extend({ "all", "file" }, hunk_numbers())
end

---The hunks named, and the reason behind a dash. Nil after saying what is wrong.
---@param call sould.Call
---@param root string
---@return sould.Hunk[]?
---@return string? reason
local function named(call, root)
  local names, reason = call.text:match("^(.-)%s*%-%s+(.*)$")
  local hunks = {}
  for word in (names or call.text):gmatch("%S+") do
    local hunk = tonumber(word) and require("sould.review.state").hunk(root, tonumber(word) --[[@as integer]])
    if not hunk then
      message.warn(("there is no hunk %s to review here"):format(word))
      return
    end
    table.insert(hunks, hunk)
  end
  return hunks, reason
end

---@param verdict "keep"|"reject"
---@return fun(call: sould.Call)
local function decides(verdict)
  return function(call)
    local decide, operate = require("sould.review.decide"), require("sould.review.operate")
    local root = lsp().root(0)
    local listed, hunk = require("sould.review.quickfix").at_cursor()
    if call.words[1] == "all" then
      decide.send(root, verdict, { all = true })
    elseif call.words[1] == "file" then
      decide.send(root, verdict, { paths = { require("sould.review.state").path(0) } })
    elseif call.range then
      operate.range(verdict, call.first, call.last, false)
    elseif listed and call.text == "" then
      decide.hunks(listed, verdict, { hunk })
    else
      local hunks, reason = named(call, root)
      if hunks and #hunks > 0 then
        decide.hunks(root, verdict, hunks, reason)
      elseif hunks then
        operate.cursor(verdict, reason)
      end
    end
  end
end

---@param call sould.Call
---@return string words, with the lines of a range below them
local function with_range(call)
  if not call.range then
    return call.text
  end
  local lines = vim.api.nvim_buf_get_lines(0, call.first - 1, call.last, false)
  local cards, path = require("sould.chat.cards"), vim.api.nvim_buf_get_name(0)
  return call.text .. "\n\n" .. cards.excerpt(path, call.first, call.last, lines, vim.bo.filetype)
end

---@param does fun(words: string)
---@param ask string
---@return fun(call: sould.Call)
local function or_asks(does, ask)
  return function(call)
    if call.text ~= "" then
      does(with_range(call))
      return
    end
    vim.ui.input({ prompt = ask }, function(words)
      if words and words ~= "" then
        call.text = words
        does(with_range(call))
      end
    end)
  end
end

---@param step 1|-1
---@return fun()
local function goes(step)
  return function()
    require("sould.review.move").go(step, 1)
  end
end

---@param call sould.Call
local function answer(call)
  local number = tonumber(call.words[1])
  local words = number and call.text:gsub("^%d+%s*", "") or call.text
  local inbox = require("sould.inbox")
  local where = inbox.is_current() and inbox or chat()
  where.answer(number, words)
end

---@param name string
---@return fun(call: sould.Call)
local function chooses(name)
  return function(call)
    chat().choose(name, call.text)
  end
end

---@param name string
---@return fun(): string[]
local function values(name)
  return function()
    return chat().values(name)
  end
end

---@type table<string, sould.Command>
M.commands = {
  keep = {
    run = decides("keep"),
    about = "keep the hunk at the cursor, a range, numbers, file, all",
    complete = numbers,
  },
  reject = { run = decides("reject"), about = "reject; words behind a dash tell the agent why", complete = numbers },
  undo = {
    about = "take the last decision back, or that about a number",
    run = function(call)
      require("sould.review.decide").undo(lsp().root(0), tonumber(call.words[1]))
    end,
  },
  next = { run = goes(1), about = "go to the next hunk" },
  prev = { run = goes(-1), about = "go to the previous hunk" },
  hunks = {
    about = "all hunks of the project, as a quickfix list",
    run = function()
      require("sould.review.quickfix").open()
    end,
  },
  diff = {
    about = "this file beside what it was",
    run = function()
      require("sould.review.base").open()
    end,
  },
  comment = {
    about = "a comment on the hunk at the cursor, or on a range",
    run = function(call)
      require("sould.review.comments").add(call)
    end,
  },
  comments = {
    about = "send the comments to the agent",
    run = function()
      require("sould.review.comments").send()
    end,
  },
  why = {
    about = "ask the agent why the hunk at the cursor, or of a number",
    run = function(call)
      require("sould.ask").why(call)
    end,
    complete = hunk_numbers,
  },
  explain = {
    about = "have the line or a range explained",
    run = function(call)
      require("sould.ask").explain(call)
    end,
  },
  edit = {
    about = "have the line or a range changed, as the words say",
    run = function(call)
      require("sould.ask").edit(call)
    end,
  },
  fix = {
    about = "have fixed what is reported about the line, a range, file",
    run = function(call)
      require("sould.ask").fix(call)
    end,
    complete = function()
      return { "file" }
    end,
  },
  chat = {
    about = "open the chat of this project",
    run = function()
      chat().open()
    end,
  },
  new = {
    about = "begin another session",
    run = function()
      chat().new()
    end,
  },
  prompt = {
    about = "send a prompt, with the lines of a range",
    run = or_asks(function(words)
      chat().prompt(words)
    end, "sould> "),
  },
  send = {
    about = "send what is typed below the chat",
    run = function()
      chat().send()
    end,
  },
  steer = {
    about = "give words to the running turn",
    run = function(call)
      chat().steer(call.text)
    end,
  },
  cancel = {
    about = "end the running turn",
    run = function()
      chat().cancel()
    end,
  },
  sessions = {
    about = "pick a session of this project",
    run = function()
      chat().sessions()
    end,
  },
  inbox = {
    about = "what waits for an answer, in all projects",
    run = function()
      require("sould.inbox").open()
    end,
  },
  answer = { run = answer, about = "answer a question, by the number of an option" },
  mode = { run = chooses("mode"), about = "choose what happens without asking", complete = values("mode") },
  model = { run = chooses("model"), about = "choose the model", complete = values("model") },
  start = {
    about = "connect this project",
    run = function()
      lsp().start()
    end,
  },
  stop = {
    about = "disconnect; what runs goes on",
    run = function()
      lsp().stop()
    end,
  },
}

---@param called table as of nvim_create_user_command
function M.run(called)
  local name, text = called.args:match("^(%S+)%s*(.-)%s*$")
  local command = M.commands[name or "hunks"]
  if not command then
    message.warn(("there is no :Sould %s; :help :Sould lists what there is"):format(name))
    return
  end
  command.run({
    words = vim.split(text or "", "%s+", { trimempty = true }),
    text = text or "",
    range = called.range > 0,
    first = called.line1,
    last = called.line2,
  })
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name = line:match("Sould!?%s+(%S+)%s")
  local found = {}
  if not name then
    found = vim.tbl_keys(M.commands)
    table.sort(found)
  elseif M.commands[name] and M.commands[name].complete then
    found = M.commands[name].complete()
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, found)
end

return M
