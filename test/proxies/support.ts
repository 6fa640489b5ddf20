/**
 * Real proxies in front of a gateway: nginx as it comes and with our config, and Caddy with our config.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { certificateOf } from '../support/certificates.ts'
import { freePorts } from '../support/ports.ts'
import { until } from '../support/wait.ts'

export const DEPLOY = path.resolve(import.meta.dirname, '../../config/deploy')

let made: string | null = null
const key = (): string => {
  const pem = { type: 'pkcs8', format: 'pem' } as const
  made ??= generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(pem) as string
  return made
}

/** A proxy, by the URLs at which clients reach the two listeners through it. */
export interface FrontProxy {
  main: string
  direct: string
  /** Without TLS; null = it has none. */
  plain: string | null
  /** Signals it, as an operator does who has changed its config. */
  child: ChildProcess
  folder: string
}

/** Where the two listeners of a gateway are. */
export interface Behind {
  main: string
  direct: string
}

export function folderOf(t: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'gateway-proxy-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const hostOf = (url: string): string => new URL(url).host

export function certificates(folder: string): { cert: string; key: string } {
  const files = { cert: path.join(folder, 'cert.pem'), key: path.join(folder, 'key.pem') }
  writeFileSync(files.cert, certificateOf({ subject: '/CN=localhost', key: key() }))
  writeFileSync(files.key, key())
  return files
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  let said = ''
  child.stderr?.on('data', chunk => (said = (said + chunk).slice(-4000)))
  await until(`port ${port} answers`, async () => {
    if (child.exitCode !== null) throw new Error(`the proxy ended with ${child.exitCode}: ${said}`)
    return canConnect(port)
  })
}

const canConnect = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

async function started(t: Test, command: string, args: string[], folder: string, port: number): Promise<ChildProcess> {
  // Caddy keeps what it knows of certificates in the home folder
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env, cwd: folder })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  t.teardown(async () => {
    process.off('exit', kill)
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    const late = setTimeout(kill, 5_000)
    await once(child, 'exit')
    clearTimeout(late)
  })
  await listening(child, port)
  return child
}

/** What stands around the files of conf.d on Debian, without what names folders of the system. */
const around = (folder: string, servers: string): string => `
user root;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr warn;
events { worker_connections 768; }
http {
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  access_log off;
  sendfile on;
  tcp_nopush on;
  types_hash_max_size 2048;
  default_type application/octet-stream;
  ssl_protocols TLSv1.2 TLSv1.3;
  ssl_prefer_server_ciphers on;
  gzip on;
${servers}
}
`

export const nginxArgs = (folder: string): string[] => [
  '-p',
  folder,
  '-c',
  path.join(folder, 'nginx.conf'),
  '-g',
  'daemon off;',
]

async function nginx(
  t: Test,
  servers: (folder: string) => string,
  port: number,
): Promise<Omit<FrontProxy, 'main' | 'direct' | 'plain'>> {
  const folder = folderOf(t)
  writeFileSync(path.join(folder, 'nginx.conf'), around(folder, servers(folder)))
  return { folder, child: await started(t, 'nginx', nginxArgs(folder), folder, port) }
}

/** As somebody writes it in five minutes: TLS, `proxy_pass`, and no setting beside. */
export async function stockNginx(t: Test, { main, direct }: Behind): Promise<FrontProxy> {
  const ports = await freePorts(3)
  const [first, second, plain] = ports as [number, number, number]
  const servers = (folder: string): string => {
    const files = certificates(folder)
    const server = (port: number, to: string) =>
      `server { listen 127.0.0.1:${port} ssl; ssl_certificate ${files.cert}; ssl_certificate_key ${files.key}; location / { proxy_pass ${to}; } }`
    return `${server(first, main)}\n${server(second, direct)}\nserver { listen 127.0.0.1:${plain}; location / { proxy_pass ${main}; } }`
  }
  return {
    ...(await nginx(t, servers, first)),
    main: at(first),
    direct: at(second),
    plain: `http://127.0.0.1:${plain}`,
  }
}

/** In one pass: a port of the test may begin with the digits of a port that is replaced, as 30010 does with those of 3001. */
const withHosts = (text: string, { main, direct }: Behind): string =>
  text.replaceAll(/127\.0\.0\.1:300([01])\b/g, (_, listener) => hostOf(listener === '0' ? main : direct))

/** The file that ships, with the ports and certificates of the test. */
export function ourServers(behind: Behind, ports: readonly number[], files: { cert: string; key: string }): string {
  let next = 0
  return withHosts(readFileSync(path.join(DEPLOY, 'nginx.conf'), 'utf8'), behind)
    .replaceAll(/listen 443 ssl/g, () => `listen 127.0.0.1:${ports[next++]} ssl`)
    .replaceAll(/(ssl_certificate +)\S+;/g, `$1${files.cert};`)
    .replaceAll(/(ssl_certificate_key +)\S+;/g, `$1${files.key};`)
    .replaceAll(/server_name .*;/g, 'server_name localhost;')
}

export async function ourNginx(
  t: Test,
  behind: Behind,
  change: (text: string) => string = text => text,
): Promise<FrontProxy> {
  const ports = (await freePorts(2)) as [number, number]
  const proxy = await nginx(t, folder => change(ourServers(behind, ports, certificates(folder))), ports[0])
  return { ...proxy, main: at(ports[0]), direct: at(ports[1]), plain: null }
}

/** The file that ships, with the ports and certificates of the test. `upstreams` replaces the address of the main listener. */
export function ourCaddyfile(behind: Behind, ports: readonly number[], files: { cert: string; key: string }): string {
  const [first, second] = ports
  const tls = `tls ${files.cert} ${files.key}`
  return withHosts(readFileSync(path.join(DEPLOY, 'Caddyfile'), 'utf8'), behind)
    .replace('{\n\tservers', '{\n\tadmin off\n\tauto_https disable_redirects\n\tservers')
    .replace('api.example.com {', `https://localhost:${first} {\n\t${tls}`)
    .replace('direct.example.com {', `https://localhost:${second} {\n\t${tls}`)
}

export async function ourCaddy(
  t: Test,
  behind: Behind,
  change: (text: string) => string = text => text,
): Promise<FrontProxy> {
  const ports = (await freePorts(2)) as [number, number]
  const folder = folderOf(t)
  const file = path.join(folder, 'Caddyfile')
  writeFileSync(file, change(ourCaddyfile(behind, ports, certificates(folder))))
  const args = ['run', '--adapter', 'caddyfile', '--config', file]
  return {
    folder,
    child: await started(t, 'caddy', args, folder, ports[0]),
    main: at(ports[0]),
    direct: at(ports[1]),
    plain: null,
  }
}

const at = (port: number): string => `https://localhost:${port}`

export interface Asked {
  path: string
  headers?: Record<string, string>
  body: string | Buffer | object
}

/** A client of either version of HTTP, which keeps what it has got. */
export class ProxyClient {
  status = 0
  headers: Record<string, unknown> = {}
  text = ''
  ended = false
  failed: Error | null = null
  #leave: () => void = () => {}

  constructor(base: string, ask: Asked, version: 'h1' | 'h2' = 'h1') {
    const body = Buffer.isBuffer(ask.body) || typeof ask.body === 'string' ? ask.body : JSON.stringify(ask.body)
    const headers = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...ask.headers,
    }
    if (version === 'h2') this.#overHttp2(base, ask.path, headers, body)
    else this.#overHttp1(base, ask.path, headers, body)
  }

  #overHttp1(base: string, path: string, headers: Record<string, string>, body: string | Buffer): void {
    const url = new URL(path, base)
    const options = {
      method: 'POST',
      headers,
      agent: false,
      rejectUnauthorized: false,
      servername: 'localhost',
      family: 4,
    }
    const req = url.protocol === 'https:' ? https.request(url, options) : http.request(url, options)
    req.on('error', error => (this.failed = error))
    req.on('response', res => {
      this.status = res.statusCode ?? 0
      this.headers = res.headers
      this.#take(res)
    })
    this.#leave = () => req.destroy()
    req.end(body)
  }

  #overHttp2(base: string, path: string, headers: Record<string, string>, body: string | Buffer): void {
    const session = http2.connect(base, {
      rejectUnauthorized: false,
      servername: 'localhost',
      family: 4,
    } as http2.SecureClientSessionOptions)
    session.on('error', error => (this.failed = error))
    const stream = session.request({ ':method': 'POST', ':path': path, ...headers })
    stream.on('error', error => (this.failed = error))
    stream.on('response', got => {
      this.status = Number(got[':status'])
      this.headers = got
    })
    this.#take(stream)
    stream.on('close', () => session.close())
    this.#leave = () => session.destroy()
    stream.end(body)
  }

  #take(stream: NodeJS.ReadableStream): void {
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => (this.text += text))
    stream.on('end', () => (this.ended = true))
    stream.on('error', (error: Error) => (this.failed = error))
  }

  async sees(text: string): Promise<void> {
    await until(
      `the client sees ${JSON.stringify(text)}; it has ${this.status} ${JSON.stringify(this.text)} ${this.failed ?? ''}`,
      () => this.text.includes(text),
    )
  }

  async end(): Promise<this> {
    await until('the end of the answer', () => this.ended || this.failed !== null)
    return this
  }

  leave(): void {
    this.#leave()
  }
}
