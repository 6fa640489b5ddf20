/** The whole console on an address of its own, with a real store in memory, and people who can sign in. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { Console } from '../../../lib/console/console.ts'
import type { Person } from '../../../lib/terms/people.ts'
import { World } from '../../../lib/world/world.ts'
import { newPerson, PASSWORD, type PeopleParts, peopleDeps } from '../../support/people.ts'
import type { Visitor } from './browser.ts'
import { dryRunOver } from './dry-run.ts'

export { newPerson, PASSWORD }

export interface OpenConsole {
  at: string
  deps: PeopleParts
}

export async function openConsole(t: Test, settings = ''): Promise<OpenConsole> {
  const deps = await peopleDeps(t, settings)
  const world = new World(deps.config(), await deps.store.catalog())
  let requests = 0
  const console = new Console({
    deps: { ...deps, dryRun: dryRunOver(deps) },
    world: () => world,
    ids: () => `r${++requests}`,
    ipOf: ({ socket }) => socket.remoteAddress as string,
    count: () => {},
  })
  const server = http.createServer((req, res) => {
    if (!console.serve(req, res)) res.writeHead(404).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { at: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, deps }
}

/** Signs in as people do, on the page for it. */
export async function signInBrowser({ page, visit }: Visitor, at: string, person: Person, next = '/console/profile') {
  await visit(`${at}/console/sign-in?next=${encodeURIComponent(next)}`)
  await page.fill('#email', person.email)
  await page.fill('#password', PASSWORD)
  await page.click('form button[type=submit]')
  await page.waitForURL(url => url.pathname === new URL(next, at).pathname)
  await page.waitForSelector('html[data-ready]', { state: 'attached' })
}
