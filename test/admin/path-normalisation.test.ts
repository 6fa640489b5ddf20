/**
 * The admin API compared paths by rules of its own, so that `/admin/%61ccounts` was a call for it, and none for a proxy in
 * front that keeps `/admin/accounts` to some addresses. All APIs read paths by the same rules now.
 */
// The bug behind these rows: a path read in two ways.
import t from 'tap'
import { openOps } from './support.ts'

t.test('steps are compared as they are written, and parameters decoded', async t => {
  const { admin } = await openOps(t)
  await admin('POST', '/admin/accounts', { name: 'a/b c' })
  const rows: [method: string, path: string, status: number][] = [
    ['GET', '/admin/accounts', 200],
    ['GET', '/admin/%61ccounts', 404],
    ['GET', '/admin/accounts/a%2Fb%20c', 200],
    ['GET', '/admin/%61ccounts/a%2Fb%20c', 404],
    ['GET', '/admin/accounts/a%2Fb%20c/%65ntries', 404],
    ['GET', '/admin/accounts/a%2Fb%20c/entries', 200],
    ['GET', '/admin/accounts/a/b%20c', 404],
    ['GET', '/admin/accounts/', 404],
    ['GET', '/admin/accounts/%', 404],
    ['DELETE', '/admin/accounts', 404],
  ]
  for (const [method, path, status] of rows) t.equal((await admin(method, path)).status, status, `${method} ${path}`)
})
