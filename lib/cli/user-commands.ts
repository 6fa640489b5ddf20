/** The commands about users. They work on the store that the config names, with the operations of the admin API. */
import { systemClock } from '../base/clock.ts'
import { type UserDeps, byActor } from '../operations/people/deps.ts'
import { Mailer } from '../operations/people/mail.ts'
import { UserAdmin, inviteForm, usersFilter } from '../operations/people/users.ts'
import { read } from '../operations/read.ts'
import { loadConfig } from '../config/config.ts'
import { createLogger } from '../base/log.ts'
import { COMMAND } from '../base/people.ts'
import { type CommandOutput, say, table } from './output.ts'
import { withStoreOf } from './with-store.ts'

export type UserCall =
  | { kind: 'list'; q: string | undefined; role: string | undefined }
  | { kind: 'invite'; form: Record<string, string | undefined> }
  | { kind: 'show' | 'disable' | 'enable' | 'end-sessions' | 'reset' | 'factor-reset'; user: string }

interface RowOutput extends CommandOutput {
  /** What `--json` prints. */
  row: object
}

const BY = byActor(COMMAND)
const MOST = 1_000

type Row = Awaited<ReturnType<UserAdmin['list']>>['data'][number]

const COLUMNS = ['id', 'email', 'name', 'status', 'operator', 'second factor'].map(name => ({ name }))
const cells = (row: Row): string[] => [
  row.id,
  row.email,
  row.name,
  row.status,
  row.operator ? 'yes' : 'no',
  row.second_factor ? 'yes' : 'no',
]

async function list(deps: UserDeps, { q, role }: Extract<UserCall, { kind: 'list' }>): Promise<RowOutput> {
  const asked = Object.entries({ q, role, limit: MOST }).filter(([, value]) => value !== undefined)
  const rows: Row[] = []
  for (let after: string | null = '0'; after !== null; ) {
    const filter = read(usersFilter, { ...Object.fromEntries(asked), after })
    const page = await new UserAdmin(deps).list(filter)
    rows.push(...page.data)
    after = page.next
  }
  return { row: { data: rows }, data: table(COLUMNS, rows.map(cells), process.stdout.isTTY), talk: [] }
}

async function about(deps: UserDeps, { kind, user }: Extract<UserCall, { user: string }>): Promise<RowOutput> {
  const person = await new UserAdmin(deps).named(user)
  switch (kind) {
    case 'show':
      return shown(await new UserAdmin(deps).show(person))
    case 'disable':
    case 'enable': {
      const row = await new UserAdmin(deps).setStatus(BY, person, kind === 'enable' ? 'active' : 'disabled')
      return { ...shown(row), talk: [`${person.email} is ${row.status}`] }
    }
    case 'end-sessions': {
      const row = await new UserAdmin(deps).endSessions(BY, person)
      return { row, data: `${row.ended}\n`, talk: [`sessions of ${person.email} that were ended:`] }
    }
    case 'reset': {
      const row = await new UserAdmin(deps).makeReset(BY, person)
      return { row, data: `${row.url}\n`, talk: [`for ${person.email}, once, until ${row.expires_at}:`] }
    }
    case 'factor-reset':
      await new UserAdmin(deps).resetFactor(BY, person)
      return shown(await new UserAdmin(deps).show(await new UserAdmin(deps).named(person.publicId)))
  }
}

const shown = (row: Awaited<ReturnType<UserAdmin['show']>>): RowOutput => ({
  row,
  talk: [],
  data: Object.entries(row)
    .map(([name, value]) => `${name}\t${typeof value === 'object' && value !== null ? JSON.stringify(value) : value}\n`)
    .join(''),
})

async function invite(deps: UserDeps, form: object): Promise<RowOutput> {
  const row = await new UserAdmin(deps).invite(BY, read(inviteForm, form))
  return { row, data: `${row.url}\n`, talk: [`for ${row.email}, once, until ${row.expires_at}:`] }
}

/** Prints what the call says. */
export async function userCommand(
  call: UserCall,
  { configFile, env, json }: { configFile: string; env: NodeJS.ProcessEnv; json: boolean },
): Promise<void> {
  const config = loadConfig(configFile, env)
  await withStoreOf(configFile, env, async store => {
    const log = createLogger('error')
    const mail = new Mailer({ clock: systemClock, log, smtp: () => config.smtp })
    const fleet = { changed: async () => {} } // serving processes find what has changed in the store
    const deps = { store, clock: systemClock, log, config: () => config, mail, fleet }
    const told =
      call.kind === 'list'
        ? await list(deps, call)
        : call.kind === 'invite'
          ? await invite(deps, call.form)
          : await about(deps, call)
    say(json ? { data: `${JSON.stringify(told.row)}\n`, talk: [] } : told)
    await mail.idle()
  })
}
