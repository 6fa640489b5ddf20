/** What is measured: the gateway with everything on, the bare relay, nginx, and another checkout of the gateway. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { cpuOf, type Part, rssOf, startPart } from './process.ts'

export const ROOT = path.resolve(import.meta.dirname, '../..')
export const KEY = 'sk-bench-0123456789abcdef'

export interface Subject {
  name: string
  pid: number
  port: number
  cpu(): { userS: number; systemS: number }
  rssBytes(): number
  /** Ops address, where there is one. */
  ops: string | null
  stop(): Promise<void>
}

export async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

export const startUpstream = (env: NodeJS.ProcessEnv = {}): Promise<Part> =>
  startPart(process.execPath, [path.join(import.meta.dirname, 'upstream.ts')], env, line =>
    line['ready'] === true ? Number(line['port']) : null,
  )

const ofPart = (name: string, part: Part, ops: string | null = null): Subject => ({
  name,
  pid: part.child.pid as number,
  port: part.port,
  cpu: () => cpuOf(part.child.pid as number),
  rssBytes: () => rssOf(part.child.pid as number),
  ops,
  stop: () => part.stop(),
})

export async function startBare(upstreamPort: number): Promise<Subject> {
  const env = { UPSTREAM: `http://127.0.0.1:${upstreamPort}` }
  return ofPart(
    'bare relay',
    await startPart(process.execPath, [path.join(import.meta.dirname, 'bare.ts')], env, line => Number(line['port'])),
  )
}

/** Every feature on: rate limit, allowlist, cap, usage, log to a file. `root`: which checkout. */
export async function startGateway(
  upstreamPort: number,
  root: string = ROOT,
  name = 'gateway',
  overrides: object = {},
  env: NodeJS.ProcessEnv = {},
): Promise<Subject> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-'))
  const [main, direct, ops] = [await freePort(), await freePort(), await freePort()]
  const at = (port: number) => `127.0.0.1:${port}`
  const config = {
    listen: { main: at(main), direct: at(direct), ops: at(ops) },
    store: `sqlite:${dir}/gateway.db`,
    journal: `${dir}/journal`,
    catalog: `${dir}/catalog.yaml`,
    admin_token: 'bench-admin-token',
    ...overrides,
  }
  writeFileSync(path.join(dir, 'gateway.yaml'), JSON.stringify(config))
  writeFileSync(path.join(dir, 'catalog.yaml'), JSON.stringify(catalog(upstreamPort)))
  const log = path.join(dir, 'gateway.log')
  const child = spawn('sh', ['-c', `exec '${root}/bin/gateway' serve --config '${dir}/gateway.yaml' > '${log}'`], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const pid = child.pid as number
  const url = `http://${at(ops)}`
  for (let i = 0; ; i++) {
    if (
      (await fetch(`${url}/readyz`).then(
        r => r.status,
        () => 0,
      )) === 200
    )
      break
    if (i > 200 || child.exitCode !== null) throw new Error(`the gateway of ${root} did not start: see ${log}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return {
    name,
    pid,
    port: main,
    ops: url,
    cpu: () => cpuOf(pid),
    rssBytes: () => rssOf(pid),
    stop: () =>
      new Promise(resolve => {
        child.once('exit', () => {
          rmSync(dir, { recursive: true, force: true })
          resolve()
        })
        child.kill('SIGTERM')
      }),
  }
}

const catalog = (upstreamPort: number): object => ({
  groups: [{ name: 'default', rate: { requests: 100_000_000, minutes: 1 } }],
  models: [{ name: 'beta-4.7', price: { input: 2, output: 8, cache_read: 0.5 } }],
  channels: [
    {
      name: 'one',
      base_url: `http://127.0.0.1:${upstreamPort}`,
      protocols: ['chat'],
      key: 'up',
      groups: ['default'],
      models: ['beta-4.7'],
    },
  ],
  accounts: [{ name: 'bench', groups: ['default'], balance: 100_000_000 }],
  keys: [{ account: 'bench', name: 'k', secret: KEY, group: 'default', cap: 50_000_000, allow_ips: ['127.0.0.1'] }],
})

/** null where nginx is not installed (Debian: nginx-light). */
export async function startNginx(upstreamPort: number): Promise<Subject | null> {
  const binary = ['/usr/sbin/nginx', '/usr/bin/nginx'].find(existsSync)
  if (binary === undefined) return null
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-nginx-'))
  const port = await freePort()
  writeFileSync(
    path.join(dir, 'nginx.conf'),
    `daemon off; master_process off; pid ${dir}/nginx.pid; error_log ${dir}/error.log crit; worker_processes 1;
events { worker_connections 8192; }
http {
  access_log off; client_body_temp_path ${dir}/b; proxy_temp_path ${dir}/p; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  client_max_body_size 64m; keepalive_requests 100000000;
  upstream up { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_request_buffering on; }
  }
}
`,
  )
  const child = spawn(binary, ['-c', path.join(dir, 'nginx.conf'), '-e', path.join(dir, 'error.log')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const pid = child.pid as number
  for (let i = 0; i < 100; i++) {
    const up = await new Promise<boolean>(resolve => {
      const socket = net.connect(port, '127.0.0.1', () => resolve(true))
      socket.on('connect', () => socket.destroy())
      socket.on('error', () => resolve(false))
    })
    if (up) break
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return {
    name: 'nginx',
    pid,
    port,
    ops: null,
    cpu: () => cpuOf(pid),
    rssBytes: () => rssOf(pid),
    stop: () =>
      new Promise(resolve => {
        child.once('exit', () => {
          rmSync(dir, { recursive: true, force: true })
          resolve()
        })
        child.kill('SIGTERM')
      }),
  }
}
