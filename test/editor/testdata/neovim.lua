-- Drives Neovim's own client of the Language Server Protocol, and prints what it sees, one
-- JSON value a line. The globals program and file are set by the caller.

local timeout = 60000 -- only a failure takes so long

local function say(value)
  io.stdout:write(vim.fn.json_encode(value), "\n")
end

local function wait(what, condition)
  if not vim.wait(timeout, condition, 20) then
    say({ failed = what, diagnostics = vim.diagnostic.get(0) })
    vim.cmd("cquit 1")
  end
end

local function codes()
  local all = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    table.insert(all, (d.code or d.user_data.lsp.code) .. " " .. d.severity .. " " .. d.lnum)
  end
  table.sort(all)
  return all
end

vim.cmd("edit " .. vim.fn.fnameescape(file))
local buffer = vim.api.nvim_get_current_buf()
local client
vim.lsp.start_client({
  cmd = { program, "lsp" },
  root_dir = vim.fn.fnamemodify(file, ":h"),
  on_init = function(c)
    client = c
    vim.lsp.buf_attach_client(buffer, c.id)
  end,
})
wait("findings in the file", function() return #vim.diagnostic.get(buffer) > 0 end)
say(codes())

-- Type another port, which the Service does not have.
local function type_port(from, to)
  for i, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    if line:find("kind: Service, name") then
      vim.api.nvim_buf_set_lines(buffer, i - 1, i, false, { (line:gsub(from, to)) })
    end
  end
end
type_port("port: 80", "port: 81")
wait("a finding about the port", function() return table.concat(codes(), ","):find("parent%-port%-not%-found") end)
say(codes())
type_port("port: 81", "port: 80")
wait("no finding about the port", function() return not table.concat(codes(), ","):find("parent%-port%-not%-found") end)

local function request(method, params)
  local answers, err = vim.lsp.buf_request_sync(buffer, method, params, timeout)
  local answer = answers and answers[client.id]
  if err or not answer or answer.err then
    say({ failed = method, err = err, answer = answer })
    vim.cmd("cquit 1")
  end
  return answer.result
end

local line = vim.diagnostic.get(buffer)[1].lnum
local document = { uri = vim.uri_from_bufnr(buffer) }
say(request("textDocument/hover", { textDocument = document, position = { line = line, character = 6 } }).contents.value)

local actions = request("textDocument/codeAction", {
  textDocument = document,
  range = { start = { line = line, character = 0 }, ["end"] = { line = line, character = 0 } },
  context = { diagnostics = {} },
})
say(actions[1].title)
vim.lsp.util.apply_workspace_edit(actions[1].edit, client.offset_encoding)
wait("no findings after the fix", function() return #vim.diagnostic.get(buffer) == 0 end)
say(vim.api.nvim_buf_get_lines(buffer, line, line + 1, false)[1])

vim.lsp.stop_client(client.id)
wait("the end of the server", function() return client.is_stopped() end)
vim.cmd("quitall!")
