--- What waits for an answer, in all projects: sessions anywhere, and questions of the server to this Neovim.
---
--- Opens on a command of the user's only. A question never takes the focus; it waits here.
local cards = require("sould.chat.cards")
local clean = require("sould.clean")
local highlights = require("sould.highlights")
local keys = require("sould.keys")
local message = require("sould.message")
local options = require("sould.inbox.options")
local sight = require("sould.sight")
local status = require("sould.status")
local told = require("sould.inbox.told")

local M = {}

local NAME = "sould://inbox"

---@class sould.Item
---@field id any
---@field title string
---@field about string
---@field lines string[] what it is about
---@field cut boolean some of these were left out
---@field ends? integer the row with which these end
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
  vim.bo[buf].modifiable = false
  highlights.markdown(buf, "sould_inbox")
  keys.own(buf)
  return buf
end

---@param entry sould.Asking
---@return sould.Item
local function asked_here(entry)
  local item = { id = entry, title = entry.message:match("^[^\n]*"), about = "this Neovim", options = {}, cut = false }
  item.lines = vim.list_slice(vim.split(entry.message, "\n"), 2)
  for _, action in ipairs(entry.actions) do
    table.insert(item.options, {
      name = clean.line(action.title),
      allows = true,
      take = function()
        entry.answer(action)
        M.refresh()
      end,
    })
  end
  return item
end

---@param waiting table
---@return sould.Item
local function asked_there(waiting)
  local item = { id = waiting.id, title = waiting.title, lines = vim.list_extend({}, waiting.lines or {}) }
  local who = (waiting.asker or "") ~= "" and ", " .. waiting.asker or ""
  item.about = ("%s, “%s”%s"):format(vim.fn.fnamemodify(waiting.session.cwd, ":~"), waiting.session.title, who)
  item.options = options.of(waiting)
  item.cut = (waiting.more or 0) > 0
  for _, question in ipairs(#(waiting.questions or {}) > 1 and waiting.questions or {}) do
    table.insert(item.lines, question.question)
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
  add("## " .. clean.line(item.title))
  item.ends = #lines - 1
  if #item.lines > 0 then
    local about = vim.split(clean.text(table.concat(item.lines, "\n")), "\n", { plain = true })
    local fence = cards.fence(about)
    add("")
    add(about[1]:match("^%-%-%- ") and fence .. "diff" or fence)
    vim.iter(about):each(add)
    item.ends = #lines - 1
    add(fence)
  end
  add("")
  add(clean.line(item.about))
  add("")
  for index, option in ipairs(item.options) do
    add(("%d. %s"):format(index, option.name), index)
  end
  add("")
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

local function draw()
  local lines = { "# Inbox", "" }
  local kept = cursors()
  rows = {}
  items = vim.list_extend(vim.tbl_map(asked_here, asking), vim.tbl_map(asked_there, told.items()))
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
  return #vim.fn.win_findbuf(vim.fn.bufnr("^" .. NAME .. "$")) > 0
end

---Looks again, if the inbox is shown.
function M.refresh()
  if shown() then
    draw()
  end
end

told.watch(function()
  status.told(#told.items())
  M.refresh()
end)

---Shows the inbox.
function M.open()
  told.connect()
  local buf = buffer()
  local window = vim.fn.bufwinid(buf)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd("botright split")
    vim.api.nvim_win_set_height(0, math.floor(vim.o.lines * 0.7)) -- what is asked about stands above its options
    vim.api.nvim_win_set_buf(0, buf)
    local set = vim.wo[0][0]
    set.wrap, set.smoothscroll, set.foldenable, set.conceallevel = true, true, false, 0
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

---@param item sould.Item
---@param option sould.Option
---@param words string
local function take(item, option, words)
  if option.allows and item.cut then
    told.show(item.id)
    message.say("this is all of it: read it, and answer again")
  elseif option.allows and not sight.shows(buffer(), item.ends) then
    sight.show(buffer(), item.ends)
    message.say("what this allows ends here: read it, and answer again")
  else
    option.take(words)
  end
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
    take(row.item, option, words)
    return
  end
  vim.ui.select(row.item.options, {
    prompt = clean.line(row.item.title),
    kind = "sould_answer",
    format_item = function(each)
      return each.name
    end,
  }, function(each)
    if each then
      take(row.item, each, words)
    end
  end)
end

return M
