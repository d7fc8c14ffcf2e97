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

---One decision of the user's: what `undo` takes back as one.
---@class sould.Decided
---@field ids integer[]
---@field calls table<integer, string|false> of agents, by hunk, as it was shown; false when it was asked about once more

local decided = {} ---@type table<string, sould.Decided[]> by project, the last one at the end

---@return sould.Decided
function M.new()
  return { ids = {}, calls = {} }
end

---@param root string
---@param decision sould.Decided
local function put_back(root, decision)
  decided[root] = decided[root] or {}
  if #decision.ids > 0 and not vim.tbl_contains(decided[root], decision) then
    table.insert(decided[root], decision)
  end
end

---@param decision sould.Decided
---@param asked integer[] what it counted before its answer came
---@param done integer[]
local function settle(decision, asked, done)
  local others = vim.tbl_filter(function(id)
    return not vim.tbl_contains(asked, id)
  end, decision.ids)
  decision.ids = vim.list_extend(others, done)
end

---The hunks that a decision is about, as they are known here: the answer may come after the next key.
---@param root string
---@param params table
---@return integer[]
local function ids_in(root, params)
  local ids = {}
  for _, hunk in ipairs(params.hunks or {}) do
    table.insert(ids, hunk.id)
  end
  for _, file in ipairs((params.all or params.paths) and state.files(root) or {}) do
    for _, hunk in ipairs((params.all or file.path == params.paths[1]) and file.hunks or {}) do
      table.insert(ids, hunk.id)
    end
  end
  return ids
end

---@param root string
---@param verdict string
---@param params table
---@param left table
---@param decision sould.Decided
local function ask(root, verdict, params, left, decision)
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
      M.send(root, verdict, again, decision)
    end
  end)
end

---The calls of agents that made a hunk what it is.
---@param hunk sould.Hunk?
---@return string?
local function calls_of(hunk)
  local calls = vim.tbl_map(function(agent)
    return agent.toolCallId
  end, hunk and hunk.agents or {})
  return hunk and table.concat(calls, " ")
end

---@param root string
---@param verdict string
---@param left table[] what nothing was done about
---@param params table
---@param decision sould.Decided
local function go_on(root, verdict, left, params, decision)
  local again = {}
  for _, each in ipairs(left) do
    if #(each.choices or {}) > 0 then
      ask(root, verdict, params, each, decision)
    elseif each.why == "hunk_stale" and not params.lines and calls_of(each.present) == decision.calls[each.id] then
      -- Only words of the user's made it another one: it is the change that they meant.
      decision.calls[each.id] = false
      table.insert(again, { id = each.id, digest = each.present.digest })
    else
      message.warn(("hunk %d: %s"):format(each.id, each.message))
    end
  end
  if #again > 0 then
    M.send(root, verdict, { hunks = again, reason = params.reason }, decision)
  end
end

---@param done table[]
---@return integer[] the numbers by which these are taken back
local function numbers(done)
  return vim.tbl_map(function(each)
    return (each.part or 0) > 0 and each.part or each.id
  end, done)
end

---@param verdict string
---@param done table[]
---@return string? words
local function said(verdict, done)
  local notes = {}
  for _, each in ipairs(done) do
    if each.waits then
      table.insert(notes, ("hunk %d is rejected when the running step of the agent ends"):format(each.id))
    end
    if #(each.stayed or {}) > 0 then
      table.insert(notes, ("%d of your lines in hunk %d stay"):format(#each.stayed, each.id))
    end
    if each.newFile == "stays" then
      table.insert(notes, ("%s stays, with what you wrote"):format(vim.fn.fnamemodify(each.path, ":.")))
    end
  end
  if #done > 0 then
    local what = #done == 1 and ("%s hunk %d"):format(VERBS[verdict], numbers(done)[1])
    table.insert(notes, 1, what or ("%s %d hunks"):format(VERBS[verdict], #done))
    return table.concat(notes, "; ")
  end
end

---@param verdict string
---@param done table[]
local function tell(verdict, done)
  local words = said(verdict, done)
  if words then
    message.say(words)
  end
end

---@param root string
---@param verdict "keep"|"reject"
---@param params table as of `_sould/review/keep`
---@param decision? sould.Decided that this goes on with
function M.send(root, verdict, params, decision)
  local asked = ids_in(root, params)
  decision = decision or M.new()
  for _, hunk in ipairs(params.hunks or {}) do
    if decision.calls[hunk.id] == nil then
      decision.calls[hunk.id] = calls_of(state.hunk(root, hunk.id))
    end
  end
  params.cwd = root
  state.decided_here(root, asked)
  vim.list_extend(decision.ids, asked)
  put_back(root, decision)
  lsp.request(root, "_sould/review/" .. verdict, params, function(problem, outcome)
    local done = outcome and numbers(outcome.done) or {}
    settle(decision, asked, done)
    if problem then
      message.warn(problem)
      return
    end
    put_back(root, decision)
    state.decided_here(root, done)
    tell(verdict, outcome.done)
    go_on(root, verdict, outcome.left, params, decision)
  end)
end

---@param root string
---@param verdict "keep"|"reject"
---@param hunks sould.Hunk[]
---@param reason? string what the agent is told
---@param decision? sould.Decided that this is a part of
function M.hunks(root, verdict, hunks, reason, decision)
  local named = vim.tbl_map(function(hunk)
    return { id = hunk.id, digest = hunk.digest }
  end, hunks)
  M.send(root, verdict, { hunks = named, reason = reason }, decision)
end

---Keeps or rejects some lines of a hunk, counted from its first one.
---@param root string
---@param verdict "keep"|"reject"
---@param hunk sould.Hunk
---@param from integer
---@param to integer not included
---@param decision sould.Decided that this is a part of
function M.lines(root, verdict, hunk, from, to, decision)
  M.send(root, verdict, { hunks = { { id = hunk.id, digest = hunk.digest } }, lines = { from, to } }, decision)
end

---@param root string
---@return sould.Decided?
local function last(root)
  local made = decided[root] or {}
  while #made > 0 do
    local decision = table.remove(made)
    if #decision.ids > 0 then
      return decision
    end
  end
end

---Takes back a decision: that about a hunk, or the last one made here. What is not taken back stays the last one.
---@param root string
---@param id? integer
function M.undo(root, id)
  local decision = not id and last(root) or { ids = { id }, calls = {} }
  if #decision.ids == 0 then
    message.say("nothing was decided here (:Sould undo NUMBER?)")
    return
  end
  local hunks = vim.tbl_map(function(each)
    return { id = each }
  end, decision.ids)
  state.decided_here(root, decision.ids)
  lsp.request(root, "_sould/review/undo", { cwd = root, hunks = hunks }, function(problem, outcome)
    if problem then
      message.warn(problem)
    else
      tell("undo", outcome.done)
      go_on(root, "undo", outcome.left, {}, decision)
      settle(decision, decision.ids, ids_in(root, { hunks = outcome.left }))
    end
    if not id then
      put_back(root, decision)
    end
  end)
end

return M
