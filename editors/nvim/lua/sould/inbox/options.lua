--- What can be answered to what waits in a session, and the answer on its way.
local clean = require("sould.clean")
local message = require("sould.message")
local told = require("sould.inbox.told")

local M = {}

---@class sould.Option
---@field name string
---@field allows? boolean what the question is about: it waits until that was in sight
---@field take fun(words: string)

---@param id string
---@param decision string
---@param more? table
local function answer(id, decision, more)
  local params = vim.tbl_extend("force", { id = id, decision = decision }, more or {})
  told.request("_sould/inbox/answer", params, function(problem, answered)
    message.say(problem or answered.message, problem and vim.log.levels.WARN or nil)
  end)
end

---@param waiting table
---@return sould.Option[]
local function approval(waiting)
  local options = vim.tbl_map(function(scope)
    local remembers = scope.remembers or ""
    return {
      name = clean.line(scope.label .. (remembers ~= "" and ": " .. remembers or "")),
      allows = true,
      take = function()
        answer(waiting.id, "approve", { scope = scope.scope })
      end,
    }
  end, waiting.scopes)
  table.insert(options, {
    name = "Reject (`:Sould answer N words` tells the agent why)",
    take = function(words)
      answer(waiting.id, "reject", { words = words })
    end,
  })
  return options
end

---What a user typed as the answer to a question: numbers of options, or words.
---@param question table
---@param typed string
---@return { chosen: string[]?, words: string? }
local function typed_answer(question, typed)
  local chosen = {}
  for number in typed:gmatch("[^,%s]+") do
    local option = question.options and question.options[tonumber(number)]
    if not option then
      return { words = typed }
    end
    table.insert(chosen, option.label)
  end
  return #chosen > 0 and { chosen = chosen } or { words = typed }
end

---Asks one question after the other, and then answers all.
---@param waiting table
---@param given? table[]
local function ask_each(waiting, given)
  given = given or {}
  local question = waiting.questions[#given + 1]
  if not question then
    answer(waiting.id, "answer", { answers = given })
    return
  end
  local labels = {}
  for index, option in ipairs(question.options or {}) do
    table.insert(labels, ("%d. %s"):format(index, clean.line(option.label)))
  end
  local prompt = ("%s %s: "):format(clean.line(question.question), table.concat(labels, "  "))
  vim.ui.input({ prompt = prompt, default = question.default }, function(typed)
    if typed then
      ask_each(waiting, vim.list_extend(given, { typed_answer(question, typed) }))
    end
  end)
end

---@param waiting table a question, or the form of a server
---@return sould.Option[]
local function question_options(waiting)
  local options = {}
  local question = #waiting.questions == 1 and waiting.questions[1] or { options = {} }
  for _, option in ipairs(question.options or {}) do
    local description = option.description or ""
    table.insert(options, {
      name = clean.line(option.label .. (description ~= "" and ": " .. description or "")),
      take = function()
        answer(waiting.id, "answer", { answers = { { chosen = { option.label } } } })
      end,
    })
  end
  table.insert(options, {
    name = "Answer by numbers or in your words (`:Sould answer N words`)",
    take = function(words)
      if words ~= "" and #waiting.questions == 1 then
        answer(waiting.id, "answer", { answers = { typed_answer(question, words) } })
      else
        ask_each(waiting)
      end
    end,
  })
  table.insert(options, {
    name = "Go on without an answer",
    take = function()
      answer(waiting.id, "dismiss")
    end,
  })
  return options
end

---@param waiting table as the daemon tells it
---@return sould.Option[]
function M.of(waiting)
  return waiting.kind == "approval" and approval(waiting) or question_options(waiting)
end

return M
