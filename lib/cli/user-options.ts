/** The commands about users and their options; `user-commands.ts` does what they say. */
import type { Command } from 'commander'
import type { UserCall } from './user-commands.ts'

type MakeCommand = (name: string, description: string) => Command

interface UserFlags {
  config: string
  json?: true
  role?: string
  account?: string
  email?: string
  q?: string
}

const run = async (call: UserCall, { config, json }: UserFlags): Promise<void> => {
  const { userCommand } = await import('./user-commands.ts')
  await userCommand(call, { configFile: config, env: process.env, json: json === true })
}

const JSON_FLAG = ['--json', 'print JSON, as the admin API answers it'] as const

/** `group` makes a command that only has commands of its own. */
export function addUsers(group: (name: string, description: string) => MakeCommand): void {
  const users = group('users', 'the people who sign in to the console')
  users('list', 'print all users')
    .option('--q <text>', 'only those whose e-mail or name contains it')
    .option('--role <role>', 'operator: only operators')
    .option(...JSON_FLAG)
    .action((flags: UserFlags) => run({ kind: 'list', q: flags.q, role: flags.role }, flags))
  users('invite', 'make a link by which somebody becomes a user; it works once, for 72 hours')
    .requiredOption('--email <email>', 'whom')
    .option('--role <role>', 'operator; or owner, member, billing, viewer of --account')
    .option('--account <name>', 'into this account')
    .option(...JSON_FLAG)
    .action((flags: UserFlags) => {
      const { email, role, account } = flags
      return run({ kind: 'invite', form: { email, role, account } }, flags)
    })
  const about = (kind: Extract<UserCall, { user: string }>['kind'], description: string) =>
    users(kind, description)
      .argument('<user>', 'e-mail or id')
      .option(...JSON_FLAG)
      .action((user: string, flags: UserFlags) => run({ kind, user }, flags))
  about('show', 'print a user, and the accounts that it is in')
  about('disable', 'keep a user out; all sessions of the user end')
  about('enable', 'let a user in again')
  about('end-sessions', 'end all sessions of a user')
  about('reset', 'make a link by which a user chooses a new password; it works once, for 24 hours')
  about('factor-reset', 'switch off the second factor of a user who lost it; all sessions end')
}
