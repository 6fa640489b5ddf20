/** An API of a few operations on a real HTTP server, with callers that the test makes up. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import type { Test } from 'tap'
import { Api } from '../../../lib/api/api.ts'
import type { Identities, Identity, Operation } from '../../../lib/api/operation.ts'
import type { Site } from '../../../lib/api/site.ts'
import { createLogger } from '../../../lib/base/log.ts'
import type { Role } from '../../../lib/base/people.ts'
import type { Account } from '../../../lib/terms/records.ts'
import { TestClock } from '../../support/clock.ts'

export interface Reply {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
  json: Record<string, unknown>
  error: { code: string; message: string; type: string; fields?: { field: string; expected: string }[] }
}

export const identity = (change: Partial<Identity> = {}, user: Partial<Identity['user']> = {}): Identity => ({
  user: {
    id: 1,
    publicId: 'user-one',
    email: 'one@example.com',
    name: 'One',
    status: 'active',
    operator: false,
    createdAtMs: 0,
    ...user,
  },
  sessionId: 1,
  tokenId: null,
  scope: null,
  provenAtMs: null,
  secondFactor: false,
  ...change,
})

const ACCOUNT = { id: 7, publicId: 'account-seven', name: 'seven' } as Account

/** Callers by what their cookie or token says. */
export class Callers implements Identities {
  readonly sessions = new Map<string, Identity>()
  readonly tokens = new Map<string, Identity>()
  readonly roles = new Map<number, Role>()
  bySession = async (secret: string) => this.sessions.get(secret) ?? null
  byToken = async (secret: string) => this.tokens.get(secret) ?? null
  again = async ({ sessionId, user }: Identity) =>
    [...this.sessions.values()].find(one => one.sessionId === sessionId && one.user.id === user.id) ?? null
  roleIn = async (userId: number, publicId: string) =>
    publicId === ACCOUNT.publicId ? { account: ACCOUNT, role: this.roles.get(userId) ?? null } : null
}

export interface Served {
  port: number
  clock: TestClock
  callers: Callers
  counted: string[]
  logged: string[]
  site: Site
  ask(method: string, path: string, headers?: http.OutgoingHttpHeaders, body?: string | Buffer): Promise<Reply>
}

export async function serveApi(t: Test, operations: Operation<object>[]): Promise<Served> {
  const [clock, callers, counted, logged] = [new TestClock(), new Callers(), [] as string[], [] as string[]]
  const site = { main: 'http://console.example', given: false }
  let ids = 0
  const write = (line: Buffer, _: string, done: () => void) => {
    logged.push(String(line))
    done()
  }
  const api = new Api<object>({
    root: '/console',
    operations,
    deps: {},
    identities: callers,
    clock,
    log: createLogger('info', new Writable({ write })),
    ids: () => `id${ids++}`,
    site: () => site,
    ipOf: req => (req.headers['x-test-ip'] as string | undefined) ?? '192.0.2.1',
    count: (operation, status) => counted.push(`${operation} ${status}`),
  })
  const server = http.createServer()
  server.on('request', (req, res) => void api.serve(req, res))
  server.on('checkContinue', (req, res) => void api.serve(req, res))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ask: Served['ask'] = (method, path, headers = {}, body) => request(port, method, path, headers, body)
  return { port, clock, callers, counted, logged, site, ask }
}

export function request(
  port: number,
  method: string,
  path: string,
  headers: http.OutgoingHttpHeaders,
  body?: string | Buffer,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const req = http.request({ port, host: '127.0.0.1', method, path, headers, agent: false }, res => {
      const chunks: Buffer[] = []
      res.on('data', chunk => chunks.push(chunk))
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const json = /^[{[]/.test(text) ? JSON.parse(text) : {}
        resolve({ status: res.statusCode as number, headers: res.headers, text, json, error: json.error })
      })
      res.on('error', reject)
    })
    req.on('error', reject)
    req.end(body)
  })
}
