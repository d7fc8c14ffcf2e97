--- Keeps, rejects and takes back what the user names, and asks where something of theirs is in the way.
local lsp = require("sould.lsp")
local message = require("sould.message")
local state = require("sould.review.state")

local M = {}

local VERBS = { keep = "Kept", reject = "Rejected", undo = "To be reviewed again:" }

local CHOICES = {
  mine = "Leave the lines as I changed them",
  drop = "Take the lines away, my words too",
  leave = "Leave these lines as they are",
  replace = "Put the old file in the place of mine",
}

local last = {} ---@type table<string, integer[]> by project: what was decided here, for `undo` without a number

---Has `undo` take these back, in place of what was only asked for: the answer may come after the next key.
---@param root string
---@param asked integer[]
---@param ids integer[]
local function remember(root, asked, ids)
  local made = vim.tbl_filter(function(id)
    return not vim.tbl_contains(asked, id)
  end, last[root] or {})
  last[root] = vim.list_extend(made, ids)
end

---@param params table
---@return integer[]
local function ids_in(params)
  return vim.tbl_map(function(hunk)
    return hunk.id
  end, params.hunks or {})
end

---@param root string
---@param verdict string
---@param params table
---@param left table
local function ask(root, verdict, params, left)
  local choices = vim.tbl_filter(function(choice)
    return choice ~= "leave"
  end, left.choices)
  table.insert(choices, "cancel")
  local about = #left.mixed > 0 and ": " .. vim.trim(left.mixed[1]) or ""
  vim.ui.select(choices, {
    prompt = ("Hunk %d: %s%s"):format(left.id, left.message, about),
    kind = "sould_choice",
    format_item = function(choice)
      return CHOICES[choice] or "Do nothing"
    end,
  }, function(choice)
    if choice and choice ~= "cancel" then
      local hunk = left.present or state.hunk(root, left.id)
      local named = { { id = left.id, digest = hunk and hunk.digest or nil } }
      local again = { hunks = named, choice = choice, reason = params.reason, lines = params.lines }
      M.send(root, verdict, again)
    end
  end)
end

---@param root string
---@param verdict string
---@param outcome { done: table[], left: table[] }
---@param params table
local function show(root, verdict, outcome, params)
  local ids, notes = {}, {}
  for _, done in ipairs(outcome.done) do
    table.insert(ids, (done.part or 0) > 0 and done.part or done.id)
    if done.waits then
      table.insert(notes, ("hunk %d is rejected when the running step of the agent ends"):format(done.id))
    end
    if #(done.stayed or {}) > 0 then
      table.insert(notes, ("%d of your lines in hunk %d stay"):format(#done.stayed, done.id))
    end
    if done.newFile == "stays" then
      table.insert(notes, ("%s stays, with what you wrote"):format(vim.fn.fnamemodify(done.path, ":.")))
    end
  end
  state.decided_here(root, ids)
  if verdict ~= "undo" then
    remember(root, ids_in(params), ids)
  end
  local told = #ids == 1 and ("%s hunk %d"):format(VERBS[verdict], ids[1])
    or #ids > 1 and ("%s %d hunks"):format(VERBS[verdict], #ids)
  if told then
    table.insert(notes, 1, told)
    message.say(table.concat(notes, "; "))
  end
  for _, left in ipairs(outcome.left) do
    if #(left.choices or {}) > 0 then
      ask(root, verdict, params, left)
    else
      message.warn(("hunk %d: %s"):format(left.id, left.message))
    end
  end
end

---@param root string
---@param verdict "keep"|"reject"|"undo"
---@param params table as of `_sould/review/keep`
function M.send(root, verdict, params)
  params.cwd = root
  state.decided_here(root, ids_in(params))
  if verdict ~= "undo" then
    remember(root, {}, ids_in(params))
  end
  lsp.request(root, "_sould/review/" .. verdict, params, function(problem, outcome)
    if problem then
      message.warn(problem)
    else
      show(root, verdict, outcome, params)
    end
  end)
end

---@param root string
---@param verdict "keep"|"reject"
---@param hunks sould.Hunk[]
---@param reason? string what the agent is told
function M.hunks(root, verdict, hunks, reason)
  local named = vim.tbl_map(function(hunk)
    return { id = hunk.id, digest = hunk.digest }
  end, hunks)
  M.send(root, verdict, { hunks = named, reason = reason })
end

---Keeps or rejects some lines of a hunk, counted from its first one.
---@param root string
---@param verdict "keep"|"reject"
---@param hunk sould.Hunk
---@param from integer
---@param to integer not included
function M.lines(root, verdict, hunk, from, to)
  M.send(root, verdict, { hunks = { { id = hunk.id, digest = hunk.digest } }, lines = { from, to } })
end

---Takes back a decision: that about a hunk, or the last one made here.
---@param root string
---@param id? integer
function M.undo(root, id)
  local made = last[root] or {}
  id = id or table.remove(made)
  if not id then
    message.say("nothing was decided here (:Sould undo NUMBER?)")
    return
  end
  M.send(root, "undo", { hunks = { { id = id } } })
end

return M
