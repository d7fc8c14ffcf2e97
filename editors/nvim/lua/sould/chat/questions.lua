--- What an agent asks in a chat, and what becomes of it: answered here, or settled elsewhere. Opens nothing by itself.
local acp = require("sould.acp")
local cards = require("sould.chat.cards")
local message = require("sould.message")

local M = {}

---@class sould.Question
---@field id any
---@field key string
---@field asked table

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
  local question = { id = id, key = "q" .. asked, asked = params }
  table.insert(chat.questions, question)
  chat.view:put(question.key, cards.question(params))
  told()
  if not chat.view:visible() then
    message.say(("%s? :Sould answer, or :Sould chat"):format(params.toolCall.title or "A question"))
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
  local title = (question.asked.toolCall.title or "Question"):gsub("\n", " ")
  chat.view:put(question.key, { ("*%s: %s*"):format(title, said) })
  told()
end

---@param chat sould.Chat
---@param question sould.Question
---@param index integer
---@param words string what the agent is told with a rejection
function M.reply(chat, question, index, words)
  local option = question.asked.options[index]
  if not option then
    message.say(("there is no option %d"):format(index))
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
    prompt = question.asked.toolCall.title,
    kind = "sould_answer",
    format_item = function(option)
      return option.name
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
