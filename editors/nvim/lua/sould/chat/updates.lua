--- What a session says (`session/update`), shown in its chat. Knows the kinds of updates, and asks nothing.
local cards = require("sould.chat.cards")
local clean = require("sould.clean")

local M = {}

---@param chat sould.Chat
---@return string
function M.heading(chat)
  for _, option in ipairs(chat.options) do
    if option.id == "mode" then
      return ("%s  [%s]"):format(clean.line(chat.title), option.currentValue)
    end
  end
  return clean.line(chat.title)
end

local kinds = {} ---@type table<string, fun(chat: sould.Chat, update: table)>

---@param speaker string
---@param prefix string
local function chunks(speaker, prefix)
  return function(chat, update)
    local text = update.content.type == "text" and update.content.text or ("[%s]"):format(update.content.type)
    chat.view:grow(prefix .. (update.messageId or ""), speaker, text)
  end
end

kinds.agent_message_chunk = chunks("sould", "a")
kinds.user_message_chunk = chunks("You", "u")

function kinds.agent_thought_chunk(chat, update)
  chat.view:speak("sould")
  local key = "t" .. (update.messageId or "")
  local call = chat.calls[key] or { title = "Thoughts", status = "completed", text = "" }
  chat.calls[key] = call
  call.text = call.text .. (update.content.text or "")
  call.content = { { type = "content", content = { type = "text", text = call.text } } }
  chat.view:put(key, cards.card(call))
end

function kinds.tool_call(chat, update)
  chat.view:speak("sould")
  local call = vim.tbl_extend("force", chat.calls[update.toolCallId] or {}, update)
  chat.calls[update.toolCallId] = call
  chat.view:put("c" .. update.toolCallId, cards.card(call))
end

kinds.tool_call_update = kinds.tool_call

function kinds.plan(chat, update)
  chat.view:put("plan" .. chat.plans, cards.plan(update.entries))
end

function kinds.notice(chat, update)
  local sign = update.severity == "info" and "" or update.severity .. ": "
  local about = update.description and ": " .. update.description or ""
  local text = ("*%s%s%s*"):format(sign, update.title, about):gsub("%s*\n%s*", " ")
  chat.view:add({ text })
end

function kinds.session_info_update(chat, update)
  chat.title = update.title or chat.title
  chat.view:name(M.heading(chat))
end

function kinds.config_option_update(chat, update)
  chat.options = update.configOptions
  chat.view:name(M.heading(chat))
end

function kinds.available_commands_update(chat, update)
  chat.commands = update.availableCommands
end

---Shows one update; of a kind that is not known, nothing.
---@param chat sould.Chat
---@param update table
function M.show(chat, update)
  local show = kinds[update.sessionUpdate]
  if show then
    show(chat, update)
  end
end

return M
