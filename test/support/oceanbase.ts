/**
 * A private server of OceanBase's engine, single-node. It comes as a Python wheel that `.ci/oceanbase` fetches and
 * unpacks outside the tree; without it the tests that need it do not run, and `npm test` says so at its end.
 */
import { existsSync, mkdtempSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MysqlServer, startServer, statement } from './mysql-server.ts'
import { freePort } from './ports.ts'

const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
/** As `.ci/oceanbase` unpacks it, its shared libraries beside it. */
const LIBRARIES = join(cache, 'gateway/oceanbase/pylibseekdb')
const SERVER = join(LIBRARIES, 'seekdb')
const PARAMETERS = ['datafile_size=2G', 'log_disk_size=2G', 'memory_limit=4G']

export const OCEANBASE_MISSING = existsSync(SERVER)
  ? null
  : "OceanBase's engine is not on this machine, and its tests did not run: .ci/oceanbase fetches it"

export async function startOceanbase(): Promise<MysqlServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-oceanbase-'))
  const port = await freePort()
  const parameters = PARAMETERS.flatMap(parameter => ['--parameter', parameter])
  return startServer({
    command: SERVER,
    args: ['--nodaemon', '-P', String(port), '--base-dir', folder, '--log-level', 'ERROR', ...parameters],
    env: { ...process.env, LD_LIBRARY_PATH: `${LIBRARIES}:${LIBRARIES}.libs` },
    port,
    folder,
    log: join(folder, 'log/seekdb.log'),
    // It accepts connections long before it serves them.
    answers: () =>
      statement(port, 'SELECT 1').then(
        () => true,
        () => false,
      ),
  })
}
