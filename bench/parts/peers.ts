/**
 * The gateways that a user could run in place of ours, one row each: what is installed, and how it is started in front of
 * the benches' upstream. They are installed at first use, from the public registries, into a cache folder of the user.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/support/ports.ts'
import { childrenOf } from '../../test/support/processes.ts'
import { end, keep, OWN_SESSION, readProc } from './process.ts'

const CACHE = path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'gateway', 'peers')
const READY_MS = 90_000
const POLL_MS = 200

/** A running gateway: where it is asked, and which processes are its own. */
export interface Peer {
  name: string
  url: URL
  headers: Record<string, string>
  model: string
  /** The CPU time of all its processes, user and system, in µs; null where they are not on this machine. */
  cpuUs(): number | null
  stop(): Promise<void>
}

interface PeerRow {
  name: string
  /** What its columns do besides relaying, for the report. */
  does: string
  /** Installs it into the folder, which is its own; throws where it cannot. */
  install(folder: string): void
  start(
    folder: string,
    upstreamPort: number,
    port: number,
  ): {
    command: string
    args: string[]
    headers: Record<string, string>
    env?: NodeJS.ProcessEnv
    /** The name that it gives the benches' model, where it is another. */
    model?: string
    /** Where it chooses its port itself: the file into which it writes the address of chat completions. */
    addressFile?: string
  }
}

const run = (command: string, args: string[]): void => {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
const PORTKEY = '@portkey-ai/gateway@1.15.2'
/** With a later one, which its range allows, Portkey answers each stream with 500: it changes headers that may not be changed. */
const [SERVER, SERVER_VERSION] = ['@hono/node-server', '1.13.8']
const LITELLM = 'litellm[proxy]==1.106.2'
const TENSORZERO = 'tensorzero==2026.6.0'
const MODEL = 'beta-4.7'

/** Starts the server in Rust that the package has for its OpenAI client, as `patch_openai_client` does. */
const TENSORZERO_SERVER = `import os, signal, sys
from tensorzero.tensorzero import _start_http_gateway
config, address = sys.argv[1:]
gateway = _start_http_gateway(config_file=config, clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False)
with open(address + '.new', 'w') as file: file.write(gateway.base_url + '/chat/completions')
os.rename(address + '.new', address)
signal.pause()
`

export const PEERS: readonly PeerRow[] = [
  {
    name: 'Portkey',
    does: `npm ${PORTKEY}, with ${SERVER}@${SERVER_VERSION}; relays to the address that a header names: no keys, no books`,
    install(folder) {
      writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ overrides: { [SERVER]: SERVER_VERSION } }))
      run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', PORTKEY])
    },
    start: (folder, upstreamPort, port) => ({
      command: process.execPath,
      args: [
        path.join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
        `--port=${port}`,
        '--headless',
      ],
      headers: {
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
        authorization: 'Bearer up',
      },
      env: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
    }),
  },
  {
    name: 'LiteLLM',
    does: `PyPI ${LITELLM}, one worker, a master key, no database: no books`,
    install(folder) {
      run('python3', ['-m', 'venv', folder])
      run(path.join(folder, 'bin/pip'), ['install', '-q', LITELLM])
    },
    start(folder, upstreamPort, port) {
      const config = path.join(folder, 'config.yaml')
      const model = { model: `openai/${MODEL}`, api_base: `http://127.0.0.1:${upstreamPort}/v1`, api_key: 'up' }
      writeFileSync(
        config,
        JSON.stringify({
          model_list: [{ model_name: MODEL, litellm_params: model }],
          general_settings: { master_key: 'sk-bench-0123456789abcdef' },
        }),
      )
      return {
        command: path.join(folder, 'bin/litellm'),
        args: [
          '--config',
          config,
          '--host',
          '127.0.0.1',
          '--port',
          String(port),
          '--num_workers',
          '1',
          '--telemetry',
          'False',
        ],
        headers: { authorization: 'Bearer sk-bench-0123456789abcdef' },
        env: { LITELLM_LOG: 'ERROR', LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
      }
    },
  },
  {
    name: 'TensorZero',
    does: `PyPI ${TENSORZERO}, its server in Rust inside a Python process, no database: no keys, no log, no books`,
    install(folder) {
      run('python3', ['-m', 'venv', folder])
      run(path.join(folder, 'bin/pip'), ['install', '-q', TENSORZERO])
    },
    start(folder, upstreamPort) {
      const [config, server, addressFile] = ['gateway.toml', 'server.py', 'address'].map(name =>
        path.join(folder, name),
      ) as [string, string, string]
      writeFileSync(server, TENSORZERO_SERVER)
      writeFileSync(
        config,
        `[gateway]
observability.enabled = false
disable_pseudonymous_usage_analytics = true
[models."${MODEL}"]
routing = ["up"]
[models."${MODEL}".providers.up]
type = "openai"
model_name = "${MODEL}"
api_base = "http://127.0.0.1:${upstreamPort}/v1"
api_key_location = "none"
`,
      )
      rmSync(addressFile, { force: true })
      const model = `tensorzero::model_name::${MODEL}`
      return {
        command: path.join(folder, 'bin/python'),
        args: [server, config, addressFile],
        headers: {},
        model,
        addressFile,
      }
    },
  },
]

/** Installs and starts a row in front of the upstream; resolves when it takes connections. */
export async function startPeer(row: PeerRow, upstreamPort: number): Promise<Peer> {
  const folder = path.join(CACHE, row.name.toLowerCase())
  const mark = path.join(folder, '.installed')
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== row.does) {
    console.error(`${row.name}: is installed into ${folder}`)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    row.install(folder)
    writeFileSync(mark, row.does)
  }
  const port = await freePort()
  const { command, args, headers, env = {}, model = MODEL, addressFile } = row.start(folder, upstreamPort, port)
  const cwd = mkdtempSync(path.join(tmpdir(), 'bench-peer-'))
  const child = keep(
    spawn(command, args, {
      ...OWN_SESSION,
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'ignore'],
    }),
  )
  const address = (): string | null => {
    if (addressFile === undefined) return `http://127.0.0.1:${port}/v1/chat/completions`
    return existsSync(addressFile) ? readFileSync(addressFile, 'utf8') : null
  }
  const beganMs = performance.now()
  let at: string | null
  for (;;) {
    at = address()
    if (at !== null && (await answers(at))) break
    if (child.exitCode !== null || performance.now() - beganMs > READY_MS) {
      await end(child)
      throw new Error(`${row.name} did not start: ${command} ${args.join(' ')}`)
    }
    await sleep(POLL_MS)
  }
  const cpuUs = (): number => cpuOfTree(child.pid as number)
  return { name: row.name, url: new URL(at), headers, model, cpuUs, stop: () => end(child) }
}

const answers = (url: string): Promise<boolean> =>
  fetch(url, { method: 'GET' }).then(
    () => true,
    () => false,
  )

/**
 * A gateway that runs already, as `NAME=URL`. The URL has the path of chat completions unless it says another, the key in
 * place of a user name, and the model as `?model=`. Its processes are found by the port they listen on.
 */
export function runningPeer(text: string): Peer {
  const at = text.indexOf('=')
  if (at < 1 || !URL.canParse(text.slice(at + 1)))
    throw new Error(`${text} is no NAME=URL, for example bifrost=http://sk-key@127.0.0.1:8080/?model=openai/${MODEL}`)
  const url = new URL(text.slice(at + 1))
  const [key, model] = [url.username, url.searchParams.get('model') ?? MODEL]
  url.username = ''
  url.search = ''
  if (url.pathname === '/') url.pathname = '/v1/chat/completions'
  const pid = listenerOf(Number(url.port || 80))
  return {
    name: text.slice(0, at),
    url,
    headers: key === '' ? {} : { authorization: `Bearer ${decodeURIComponent(key)}` },
    model,
    cpuUs: () => (pid === null ? null : cpuOfTree(pid)),
    stop: async () => {},
  }
}

/** The CPU time of a process and of all below it, in µs. */
export function cpuOfTree(pid: number): number {
  const { userUs, systemUs } = readProc(pid)
  return childrenOf(pid).reduce((sum, child) => sum + cpuOfTree(child), userUs + systemUs)
}

/** The process that listens on a port of this machine; null when none of those that we may read does. */
function listenerOf(port: number): number | null {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const LISTENS = '0A'
  const inodes = ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap(file => readFileSync(file, 'utf8').trim().split('\n').slice(1))
    .map(line => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(hex) && state === LISTENS)
    .map(fields => `socket:[${fields[9]}]`)
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      const open = readdirSync(`/proc/${pid}/fd`).map(fd => readlinkSync(`/proc/${pid}/fd/${fd}`))
      if (open.some(link => inodes.includes(link))) return Number(pid)
    } catch {
      // the process has ended, or is not ours to read
    }
  }
  return null
}
