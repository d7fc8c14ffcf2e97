--- Keys: `<Plug>` mappings for everything, and those of the user's choice onto them. None is taken unasked.
local config = require("sould.config")

local M = {}

---@param name string
---@param modes string|string[]
---@param does string|function
---@param about string
---@param options? table
local function plug(name, modes, does, about, options)
  local all = vim.tbl_extend("force", { desc = "sould: " .. about, silent = true }, options or {})
  vim.keymap.set(modes, "<Plug>(Sould" .. name .. ")", does, all)
end

local function review()
  local operate = function()
    return require("sould.review.operate")
  end
  plug("Next", "n", function()
    require("sould.review.move").go(1, vim.v.count1)
  end, "next hunk")
  plug("Prev", "n", function()
    require("sould.review.move").go(-1, vim.v.count1)
  end, "previous hunk")
  plug("Object", { "o", "x" }, "<Cmd>lua require('sould.review.move').select()<CR>", "the hunk at the cursor")
  for name, verdict in pairs({ Keep = "keep", Reject = "reject" }) do
    plug(name, "n", function()
      return operate().repeatable(verdict)
    end, verdict .. " the hunk at the cursor", { expr = true })
    plug(name, "x", function()
      operate().selection(verdict)
    end, verdict .. " what is selected")
    plug(name .. "Over", { "n", "x" }, function()
      return operate().operator(verdict)
    end, verdict .. " over a motion", { expr = true })
  end
end

local COMMANDS = { Undo = "undo", Hunks = "hunks", Chat = "chat", Inbox = "inbox", Send = "send", Answer = "answer" }

---Makes the `<Plug>` mappings.
function M.plugs()
  review()
  for name, command in pairs(COMMANDS) do
    plug(name, "n", "<Cmd>Sould " .. command .. "<CR>", command)
  end
  plug("Send", "i", "<Cmd>Sould send<CR>", "send")
end

---Maps the keys that were asked for.
function M.setup()
  local keys = config.mapped()
  local function map(modes, key, name)
    if key then
      vim.keymap.set(
        modes,
        key,
        "<Plug>(Sould" .. name .. ")",
        { remap = true, silent = true, desc = "sould: " .. name }
      )
    end
  end
  map("n", keys.next, "Next")
  map("n", keys.prev, "Prev")
  map({ "o", "x" }, keys.object, "Object")
  map({ "n", "x" }, keys.keep, "Keep")
  map({ "n", "x" }, keys.reject, "Reject")
  map("n", keys.keep_over, "KeepOver")
  map("n", keys.reject_over, "RejectOver")
  map("n", keys.undo, "Undo")
  map("n", keys.hunks, "Hunks")
  map("n", keys.chat, "Chat")
  map("n", keys.inbox, "Inbox")
end

---Maps the keys of a chat or of the inbox in its buffer, which is ours: these are there unasked.
---@param buf integer
function M.own(buf)
  local keys = vim.tbl_extend("force", { send = config.keys.send, answer = config.keys.answer }, config.mapped())
  if keys.send then
    vim.keymap.set({ "n", "i" }, keys.send, "<Plug>(SouldSend)", { buffer = buf, remap = true, desc = "sould: send" })
  end
  if keys.answer then
    vim.keymap.set("n", keys.answer, "<Plug>(SouldAnswer)", { buffer = buf, remap = true, desc = "sould: answer" })
  end
end

return M
