--- What is to be reviewed, by project, as the server said it last. Draws nothing and asks nothing.
local M = {}

---@class sould.Line
---@field text string with its end
---@field author "agent"|"user"|"mixed"

---@class sould.Hunk
---@field id integer
---@field digest string
---@field path string
---@field kind string
---@field state string
---@field start integer the first line in the file, from 0
---@field base string[]
---@field lines sould.Line[]
---@field agents { sessionId: string, toolCallId: string }[]
---@field before string
---@field after string
---@field committed boolean
---@field shownIn string
---@field earlier boolean

---@class sould.File
---@field path string
---@field exists boolean
---@field hunks sould.Hunk[]
---@field streaming? sould.Hunk[] what calls are about to write
---@field root string

---@class sould.Decision
---@field id integer
---@field path string
---@field verdict string
---@field by string
---@field at string

---@class sould.Review
---@field revision integer
---@field files table<string, sould.File>
---@field comments table[]

local reviews = {} ---@type table<string, sould.Review>
local own = {} ---@type table<string, boolean> what was decided here, so that nobody is told their own decision
local watchers = {} ---@type fun(root: string, paths: table<string, boolean>?, decisions: sould.Decision[])[]

---Has `told` called after each change: of these paths, or of anything.
---@param told fun(root: string, paths: table<string, boolean>?, decisions: sould.Decision[])
function M.watch(told)
  table.insert(watchers, told)
end

---@param root string
---@param paths table<string, boolean>?
---@param decisions sould.Decision[]
local function tell(root, paths, decisions)
  for _, told in ipairs(watchers) do
    told(root, paths, decisions)
  end
end

---@param review sould.Review
---@param file sould.File
local function take(review, file)
  local shown = #file.hunks > 0 or #(file.streaming or {}) > 0
  review.files[file.path] = shown and file or nil
end

---@param root string
---@param listed { revision: integer, files: sould.File[], comments: table[]? }
function M.replace(root, listed)
  local review = { revision = listed.revision, files = {}, comments = listed.comments or {} }
  for _, file in ipairs(listed.files) do
    file.root = root
    take(review, file)
  end
  reviews[root] = review
  tell(root, nil, {})
end

---Takes a `_sould/review/changed`.
---@param root string
---@param told table
---@return boolean incomplete whether the list has to be asked for again
function M.changed(root, told)
  local review = reviews[root]
  if not review then
    return true
  end
  if told.revision < review.revision then
    return false
  end
  review.revision = told.revision
  local paths = {}
  for _, file in ipairs(told.files or {}) do
    file.root = root
    paths[file.path] = true
    take(review, file)
  end
  if type(told.comments) == "table" then
    review.comments = told.comments
  end
  local others = {}
  for _, decision in ipairs(told.decisions or {}) do
    if not own[root .. ":" .. decision.id] then
      table.insert(others, decision)
    end
  end
  tell(root, paths, others)
  return told.everything == true or #(told.others or {}) > 0
end

---The connection is gone: what is drawn stays until the next one says what is true.
---@param root string
function M.lost(root)
  if reviews[root] then
    reviews[root].revision = -1
  end
end

---Says that these are decided here.
---@param root string
---@param ids integer[]
function M.decided_here(root, ids)
  for _, id in ipairs(ids) do
    own[root .. ":" .. id] = true
  end
end

---@param path string as the server names it
---@return sould.File?
function M.file(path)
  for _, review in pairs(reviews) do
    if review.files[path] then
      return review.files[path]
    end
  end
end

---The files of a project with something to review, by path.
---@param root string
---@return sould.File[]
function M.files(root)
  local review = reviews[root]
  local found = review and vim.tbl_values(review.files) or {}
  table.sort(found, function(a, b)
    return a.path < b.path
  end)
  return found
end

---@param root string
---@return integer
function M.count(root)
  local sum = 0
  for _, file in ipairs(M.files(root)) do
    sum = sum + #file.hunks
  end
  return sum
end

---@param root string
---@param id integer
---@return sould.Hunk?
function M.hunk(root, id)
  for _, file in ipairs(M.files(root)) do
    for _, hunk in ipairs(file.hunks) do
      if hunk.id == id then
        return hunk
      end
    end
  end
end

---@param root string
---@return table[]
function M.comments(root)
  return reviews[root] and reviews[root].comments or {}
end

local paths = {} ---@type table<integer, { name: string, path: string }> by buffer: a status line asks for each screen

---The path of a buffer's file as the server names it: without links. Empty for a buffer without a file.
---@param buf integer
---@return string
function M.path(buf)
  buf = buf == 0 and vim.api.nvim_get_current_buf() or buf
  local name = vim.api.nvim_buf_get_name(buf)
  if name == "" or vim.bo[buf].buftype ~= "" then
    return ""
  end
  local known = paths[buf]
  if known and known.name == name then
    return known.path
  end
  local real = vim.uv.fs_realpath(name)
  if real then
    paths[buf] = { name = name, path = real }
    return real
  end
  local folder = vim.uv.fs_realpath(vim.fs.dirname(name))
  return folder and folder .. "/" .. vim.fs.basename(name) or name
end

---A buffer is read again, or gone: a link may lead elsewhere since.
---@param buf integer
function M.forget_path(buf)
  paths[buf] = nil
end

---The loaded buffer of a file, if there is one.
---@param path string
---@return integer?
function M.buffer(path)
  local buf = vim.fn.bufnr("^" .. vim.fn.fnameescape(path) .. "$")
  if buf > 0 and vim.api.nvim_buf_is_loaded(buf) then
    return buf
  end
  for _, each in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(each) and M.path(each) == path then
      return each
    end
  end
end

return M
