--- What waits for an answer, in all projects: sessions anywhere, and questions of the server to this Neovim.
---
--- Opens on a command of the user's only. A question never takes the focus; it waits here.
local acp = require("sould.acp")
local keys = require("sould.keys")
local message = require("sould.message")
local status = require("sould.status")

local M = {}

local NAME = "sould://inbox"

---@class sould.Option
---@field name string
---@field take fun(words: string)

---@class sould.Item
---@field id any
---@field title string
---@field about string
---@field lines string[]
---@field options sould.Option[]

---@class sould.Asking
---@field message string
---@field actions { title: string }[]
---@field answer fun(action: any)
---@field token? string

local asking = {} ---@type sould.Asking[]
local items = {} ---@type sould.Item[]
local rows = {} ---@type table<integer, { item: sould.Item, option: integer? }>

---Has the server's question wait until it is answered here. Only in a coroutine, as handlers of requests are.
---@param asked { message: string, actions: table[]?, token: string? }
---@return any the action, or vim.NIL
function M.wait_for(asked)
  local routine = coroutine.running()
  if not asked.actions or #asked.actions == 0 then
    message.say(asked.message)
    return vim.NIL
  end
  local entry = { message = asked.message, actions = asked.actions, token = asked.token }
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
  M.refresh()
  return coroutine.yield()
end

---Takes a question of the server back: somebody else has answered it, or nobody has to.
---@param token string
function M.withdraw(token)
  for _, each in ipairs(asking) do
    if each.token == token then
      each.answer(vim.NIL)
      M.refresh()
      return
    end
  end
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

local told = {} ---@type table[] what waits in sessions, longest first
local following = false

---@param id string
---@param decision string
---@param more? table
local function answer(id, decision, more)
  local params = vim.tbl_extend("force", { id = id, decision = decision }, more or {})
  acp.request("_sould/inbox/answer", params, function(problem, answered)
    message.say(problem or answered.message, problem and vim.log.levels.WARN or nil)
  end)
end

---@param waiting table an approval
---@return sould.Option[]
local function approval(waiting)
  local options = vim.tbl_map(function(scope)
    local remembers = scope.remembers or ""
    return {
      name = scope.label .. (remembers ~= "" and ": " .. remembers or ""),
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
    table.insert(labels, ("%d. %s"):format(index, option.label))
  end
  local prompt = ("%s %s: "):format(question.question, table.concat(labels, "  "))
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
      name = option.label .. (description ~= "" and ": " .. description or ""),
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

---@param entry sould.Asking
---@return sould.Item
local function asked_here(entry)
  local item = { id = entry, title = entry.message:match("^[^\n]*"), about = "this Neovim", options = {} }
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
  return item
end

local draw ---@type fun()

---@param waiting table
---@return sould.Item
local function asked_there(waiting)
  local item = { id = waiting.id, title = waiting.title, lines = vim.list_extend({}, waiting.lines or {}) }
  local who = (waiting.asker or "") ~= "" and ", " .. waiting.asker or ""
  item.about = ("%s, “%s”%s"):format(vim.fn.fnamemodify(waiting.session.cwd, ":~"), waiting.session.title, who)
  item.options = waiting.kind == "approval" and approval(waiting) or question_options(waiting)
  for _, question in ipairs(#(waiting.questions or {}) > 1 and waiting.questions or {}) do
    table.insert(item.lines, question.question)
  end
  if (waiting.more or 0) > 0 then
    table.insert(item.lines, ("... %d more lines"):format(waiting.more))
    table.insert(item.options, {
      name = "Show all of it",
      take = function()
        acp.request("_sould/inbox/show", { id = waiting.id }, function(_, whole)
          told = vim.tbl_map(function(each)
            return whole and each.id == waiting.id and whole or each
          end, told)
          draw()
        end)
      end,
    })
  end
  return item
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

---The line on which an item begins.
---@param id any
---@return integer?
local function first_line(id)
  local found
  for line, row in pairs(rows) do
    if row.item.id == id and line < (found or math.huge) then
      found = line
    end
  end
  return found
end

---Where cursors stand, by window: the item, and the lines of it above.
---@return table<integer, { id: any, below: integer }>
local function cursors()
  local found = {}
  for _, win in ipairs(vim.fn.win_findbuf(buffer())) do
    local line = vim.api.nvim_win_get_cursor(win)[1]
    local id = rows[line] and rows[line].item.id
    found[win] = { id = id, below = id and line - first_line(id) or 0 }
  end
  return found
end

---Puts cursors back on their items, or where nothing can be answered: a key must not answer what has come in between.
---@param kept table<integer, { id: any, below: integer }>
local function put_back(kept)
  for win, place in pairs(kept) do
    local first = place.id and first_line(place.id)
    if first then
      vim.api.nvim_win_set_cursor(win, { math.min(first + place.below, vim.api.nvim_buf_line_count(buffer())), 0 })
    elseif place.id then
      vim.api.nvim_win_set_cursor(win, { 1, 0 })
    end
  end
end

function draw()
  local lines = { "# Inbox", "" }
  local kept = cursors()
  rows = {}
  items = vim.list_extend(vim.tbl_map(asked_here, asking), vim.tbl_map(asked_there, told))
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
  put_back(kept)
end

---@return boolean
local function shown()
  return #vim.fn.win_findbuf(buffer()) > 0
end

local function follow()
  acp.request("_sould/inbox/subscribe", vim.empty_dict(), function(problem, list)
    following = problem == nil
    if problem then
      message.say(problem, vim.log.levels.WARN)
    end
    told = list and list.items or {}
    draw()
  end)
end

local function leave()
  if following and not shown() then
    following = false
    acp.request("_sould/inbox/unsubscribe", vim.empty_dict())
  end
end

---@param news table
local function changed(news)
  if news.everything then
    follow()
    return
  end
  local ended, known = {}, {}
  for _, each in ipairs(news.ended or {}) do
    ended[each.id] = true
  end
  told = vim.tbl_filter(function(each)
    return not ended[each.id]
  end, told)
  for index, each in ipairs(told) do
    known[each.id] = index
  end
  for _, each in ipairs(news.items or {}) do
    told[known[each.id] or #told + 1] = each
  end
  draw()
end

acp.on("_sould/inbox/changed", function(news)
  if following then
    changed(news)
  end
end)

acp.on_exit(function()
  local again = following and shown()
  following = false
  if again then
    vim.defer_fn(M.refresh, 1000)
  end
end)

---Looks again, if the inbox is shown.
function M.refresh()
  if not shown() then
    return
  elseif following then
    draw()
  else
    follow()
  end
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
        leave()
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
