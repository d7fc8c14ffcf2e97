--- `:checkhealth sould`: what is missing, and what to do about it. Changes nothing.
local M = {}

local health = vim.health
local ok, info, warn, bad = health.ok, health.info, health.warn, health.error

---@param command string
---@return boolean
local function program(command)
  if vim.fn.executable(command) == 0 then
    bad(command .. " is not there, or not in the PATH of this Neovim", {
      "install sould",
      'or give its path: require("sould").setup({ command = "/path/to/sould" })',
    })
    return false
  end
  local version = vim.fn.system({ command, "--version" })
  ok(vim.trim(version) .. " (" .. vim.fn.exepath(command) .. ")")
  local speaks = vim.fn.system({ command, "--help" }):find("\n%s+lsp%s") ~= nil
  if speaks then
    ok("it speaks LSP")
  else
    bad("this version of sould has no `sould lsp`", { "install a newer one, then `sould restart`" })
  end
  return speaks
end

local function connections()
  local projects = require("sould.lsp").projects()
  if #projects == 0 then
    warn("no project is connected", { "open a file, or :Sould start" })
  end
  for _, project in ipairs(projects) do
    if require("sould.lsp").connected(project.root) then
      local pending = require("sould.review.state").count(project.root)
      ok(("%s: connected, %d hunk%s to review"):format(project.root, pending, pending == 1 and "" or "s"))
    else
      local now = require("sould.status").of(project.root)
      warn(("%s: %s"):format(project.root, now), { ":Sould start", "sould doctor", ":edit " .. vim.lsp.get_log_path() })
    end
  end
end

---@param command string
local function daemon(command)
  local said = vim.trim(vim.fn.system({ command, "status" }))
  if vim.v.shell_error == 0 then
    ok(said:match("^[^\n]*"))
  else
    warn("the daemon is not running; it starts when it is needed")
  end
end

local function keys()
  local mapped = require("sould.config").mapped()
  if next(mapped) == nil then
    ok("no keys are mapped; keys = true maps those of :help sould-keys")
    return
  end
  for name, key in pairs(mapped) do
    local there = vim.fn.maparg(key, (name == "object") and "o" or "n", false, true)
    if name ~= "send" and name ~= "answer" and not (there.rhs or ""):find("Sould") then
      warn(("%s is mapped to something else by now (%s)"):format(key, there.desc or there.rhs or "nothing"))
    end
  end
  ok("keys are mapped, as asked")
end

function M.check()
  health.start("sould")
  local command = require("sould.config").options.command[1]
  ok("Neovim " .. tostring(vim.version()))
  if not program(command) then
    return
  end
  daemon(command)
  connections()
  keys()
  if not vim.o.termguicolors then
    info("'termguicolors' is off: colours are the nearest of your terminal's 256")
  end
end

return M
