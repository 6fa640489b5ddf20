/** A person on the console of a gateway: books with a large account, a session, and calls that go on until they are stopped. */
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { COMMAND } from '../../lib/base/people.ts'
import { hashOf, newToken } from '../../lib/base/secrets.ts'
import { openLargeBooks } from './account-store.ts'
import { fillUsage } from './store-fill.ts'
import type { Subject } from './subjects.ts'

const KEYS = 50
/** Between two reports: somebody who clicks without rest, below the rate at which calls are refused. */
const PAUSE_MS = 250
const ACT = { actor: COMMAND, operation: 'bench' }
/** The days of which the books have rows. */
const PERIOD = 'from=2026-01-01T00:00:00Z&to=2026-05-30T00:00:00Z'

export interface WatchedBooks {
  store: string
  account: string
  cookie: string
  remove(): void
}

/** Books with `usage` rows, and a person who owns half of them. */
export async function watchedBooks(usage: number): Promise<WatchedBooks> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-console-'))
  const url = `sqlite:${folder}/books.db`
  const books = await openLargeBooks(url, KEYS)
  await fillUsage(url, { ...books, keys: [...books.own, ...books.keys] }, usage)
  const { store, account } = books
  const atMs = Date.now()
  const user = { email: 'ada@example.org', name: 'Ada', password: null, operator: false, language: null, atMs }
  const { id } = await store.people.users.create(user, ACT)
  await store.people.members.add({ userId: id, accountId: account.id, role: 'owner' }, atMs, ACT)
  const secret = newToken()
  const session = {
    hash: hashOf(secret),
    userId: id,
    atMs,
    provenAtMs: null,
    mark: null,
    ip: '127.0.0.1',
    agent: 'bench',
  }
  await store.people.sessions.create(session, { ...ACT, actor: { ...COMMAND, userId: id } })
  await store.close()
  return {
    store: url,
    account: account.publicId,
    cookie: `session=${secret}`,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export interface Seen {
  reports: number
  files: number
  bytes: number
}

/** Reads reports, and downloads all requests, or `only` one of these, until the function is called that it returns. */
export function watch({ port }: Subject, { account, cookie }: WatchedBooks, only?: string): () => Promise<Seen> {
  const ended = new AbortController()
  const seen: Seen = { reports: 0, files: 0, bytes: 0 }
  const at = `/console/api/accounts/${account}`
  const ask = (call: string) => read(port, `${at}${call}`, cookie, ended.signal, bytes => (seen.bytes += bytes))
  const reports = async () => {
    for (;;)
      for (const call of [
        '/overview',
        `/usage?${PERIOD}`,
        `/usage?${PERIOD}&stack=key`,
        '/requests?outcome=upstream',
      ]) {
        await ask(call)
        seen.reports++
        await sleep(PAUSE_MS, undefined, { signal: ended.signal })
      }
  }
  const files = async () => {
    for (;;) {
      await ask(`/requests.csv?${PERIOD}`)
      seen.files++
    }
  }
  const running = Object.entries({ reports, exports: files })
    .filter(([name]) => only === undefined || only === name)
    .map(([, run]) =>
      run().catch((error: unknown) => {
        if (!ended.signal.aborted) throw error
      }),
    )
  return async () => {
    ended.abort()
    await Promise.all(running)
    return seen
  }
}

const read = (port: number, url: string, cookie: string, signal: AbortSignal, took: (bytes: number) => void) =>
  new Promise<void>((resolve, reject) => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const req = http.get({ host: '127.0.0.1', port, path: url, headers, signal }, res => {
      if (res.statusCode !== 200) reject(new Error(`${url}: ${res.statusCode}`))
      res.on('data', (piece: Buffer) => took(piece.length))
      res.on('error', reject)
      res.on('end', resolve)
    })
    req.on('error', reject)
  })
