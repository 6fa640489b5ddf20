/** Browsers that keep cookies, at addresses that the test chooses. Every answer is checked against the row of its call. */
import http from 'node:http'
import type { Test } from 'tap'
import { type Operation, methodOf, pathOf } from '../../../lib/api/operation.ts'
import { Routes } from '../../../lib/api/visit.ts'
import type { ConsoleDeps } from '../../../lib/console/api/shared.ts'
import { OPERATIONS } from '../../../lib/console/api/rows.ts'
import { type House, openConsole } from './console.ts'

export interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
  json: Record<string, unknown>
  error: { code: string; message: string }
}

export interface ServedConsole {
  deps: House['deps']
  browser(ip?: string): Browser
}

export async function serveConsole(t: Test, settings = ''): Promise<ServedConsole> {
  const { deps, url } = await openConsole(t, settings)
  const port = Number(new URL(url).port)
  return { deps, browser: (ip = '192.0.2.1') => new Browser(t, port, ip) }
}

const routes = new Routes<Operation<ConsoleDeps>>()
for (const row of OPERATIONS) routes.add(`${methodOf(row)} ${pathOf(row)}`, row)

export class Browser {
  readonly #t: Test
  readonly #port: number
  readonly #ip: string
  readonly cookies = new Map<string, string>()
  /** Every `set-cookie` line that came. */
  readonly lines: string[] = []

  constructor(t: Test, port: number, ip: string) {
    this.#t = t
    this.#port = port
    this.#ip = ip
  }

  async ask(method: string, path: string, body?: object, headers: http.OutgoingHttpHeaders = {}): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const sent = {
      'x-test-ip': this.#ip,
      'user-agent': 'a browser',
      'accept-language': 'en',
      'sec-fetch-site': 'same-origin',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(cookie === '' ? {} : { cookie }),
      ...headers,
    }
    const url = {
      host: '127.0.0.1',
      port: this.#port,
      path: `/console/api${path}`,
      method,
      headers: sent,
      agent: false,
    }
    const answer = await exchange(url, body)
    for (const line of answer.headers['set-cookie'] ?? []) this.#keep(line)
    this.#check(method, path, answer)
    return answer
  }

  #keep(line: string): void {
    this.lines.push(line)
    const [, name = '', value = '', rest = ''] = /^([^=]+)=([^;]*);(.*)$/.exec(line) ?? []
    if (/max-age=0/i.test(rest)) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }

  #check(method: string, path: string, { status, json }: Answer): void {
    const found = routes.find(method, `/api${path.split('?')[0]}`)
    if (found === null || !('row' in found)) return
    const { answer, refuses = [], id } = found.row
    const always = [401, 403, 429, ...(typeof found.row.who === 'string' ? [] : [404])]
    this.#t.ok([answer.status, ...refuses, ...always].includes(status as 200), `${id}: ${status} is announced`)
    if (status !== answer.status || answer.body === null || typeof answer.body === 'string') return
    const read = answer.body.safeParse(json)
    this.#t.ok(read.success, `${id}: the answer is what its row says ${read.error?.message ?? ''}`)
  }
}

const exchange = (options: http.RequestOptions, body: object | undefined): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const req = http.request(options, res => {
      const chunks: Buffer[] = []
      res.on('data', chunk => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const json = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
        resolve({
          status: res.statusCode as number,
          headers: res.headers,
          json,
          error: json['error'] as Answer['error'],
        })
      })
    })
    req.on('error', reject)
    req.end(body === undefined ? undefined : JSON.stringify(body))
  })
