--- What an agent asks in a chat, and what becomes of it: answered here, or settled elsewhere. Opens nothing by itself.
local acp = require("sould.acp")
local cards = require("sould.chat.cards")
local clean = require("sould.clean")
local message = require("sould.message")
local updates = require("sould.chat.updates")

local M = {}

---@class sould.Question
---@field id any
---@field key string
---@field asked table
---@field ends integer the line of it, from 0, with which what it is about ends

local told = function() end

---Has `does` called after a question came or went.
---@param does fun()
function M.watch(does)
  told = does
end

local asked = 0

---Shows a question in its chat.
---@param chat sould.Chat
---@param id any
---@param params table of `session/request_permission`
function M.ask(chat, id, params)
  asked = asked + 1
  local lines, ends = cards.question(params)
  local question = { id = id, key = "q" .. asked, asked = params, ends = ends }
  table.insert(chat.questions, question)
  chat.view:put(question.key, lines)
  told()
  if not chat.view:visible() then
    message.say(("%s? :Sould chat shows all of it"):format(clean.line(params.toolCall.title or "A question")))
  end
end

---@param chat sould.Chat
---@param question sould.Question
---@param said string what became of it
function M.settle(chat, question, said)
  for index, each in ipairs(chat.questions) do
    if each == question then
      table.remove(chat.questions, index)
    end
  end
  local title = clean.line(question.asked.toolCall.title or "Question")
  chat.view:put(question.key, { ("*%s: %s*"):format(title, said) })
  told()
end

---@param chat sould.Chat
---@param question sould.Question
---@param index integer
---@param words string what the agent is told with the answer
function M.reply(chat, question, index, words)
  local option = question.asked.options[index]
  if not option then
    message.say(("there is no option %d"):format(index))
    return
  elseif vim.startswith(option.kind, "allow") and not chat.view:shows(question.key, question.ends) then
    chat.view:open(updates.heading(chat))
    chat.view:show(question.key, question.ends)
    message.say("what this allows ends here: read it, and answer again")
    return
  end
  local result = { outcome = { outcome = "selected", optionId = option.optionId } }
  if words ~= "" then
    result._meta = { sould = { feedback = words } }
  end
  acp.reply(question.id, result)
  M.settle(chat, question, option.name)
end

---@param chat sould.Chat
---@param question sould.Question
function M.pick(chat, question)
  vim.ui.select(question.asked.options, {
    prompt = clean.line(question.asked.toolCall.title or "A question"),
    kind = "sould_answer",
    format_item = function(option)
      return clean.line(option.name)
    end,
  }, function(_, index)
    if index then
      M.reply(chat, question, index, "")
    end
  end)
end

---Whether an id is that of a question of this chat; it is settled then.
---@param chat sould.Chat
---@param id any
---@param said string
---@return boolean
function M.close(chat, id, said)
  for _, question in ipairs(chat.questions) do
    if question.id == id then
      M.settle(chat, question, said)
      return true
    end
  end
  return false
end

return M
