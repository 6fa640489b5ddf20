/** The commands that are calls of the admin API, as a table; `call-commands.ts` makes commands of its rows. */

export interface CallCommand {
  /** What is typed: the noun, the verb and the arguments. An argument is part of the path, or a field of the body. */
  typed: string
  /** Id of the row of the admin API. */
  call: string
  says: string
  /** Fields of a row that a list shows. */
  columns?: string
  /** Fields of the body that the command itself says. */
  fixed?: Record<string, unknown>
  /**
   * `create`: a row of the catalogue that must not be there yet; `edit`: the fields that are given change, and the others stay;
   * `destroy`: asks before it does so.
   */
  manner?: 'create' | 'edit' | 'destroy'
}

const ofCatalogue = (kind: string, columns: string): CallCommand[] => {
  const one = kind.slice(0, -1)
  return [
    { typed: `${kind} list`, call: `${kind}.list`, says: `print all ${kind}`, columns },
    { typed: `${kind} show <name>`, call: `${kind}.show`, says: `print a ${one}` },
    { typed: `${kind} create <name>`, call: `${kind}.put`, says: `make a ${one}`, manner: 'create' },
    {
      typed: `${kind} set <name>`,
      call: `${kind}.put`,
      says: `change the fields of a ${one} that are given`,
      manner: 'edit',
    },
    { typed: `${kind} delete <name>`, call: `${kind}.remove`, says: `delete a ${one}`, manner: 'destroy' },
  ]
}

export const COMMANDS: readonly CallCommand[] = [
  {
    typed: 'accounts list',
    call: 'accounts.list',
    says: 'print all accounts, oldest first',
    columns: 'name status groups balance held available',
  },
  { typed: 'accounts show <name>', call: 'accounts.show', says: 'print an account' },
  { typed: 'accounts create <name>', call: 'accounts.create', says: 'make an account' },
  { typed: 'accounts set <name>', call: 'accounts.change', says: 'change the fields of an account that are given' },
  {
    typed: 'accounts ban <name>',
    call: 'accounts.change',
    says: 'refuse all requests of an account',
    fixed: { status: 'banned' },
  },
  {
    typed: 'accounts unban <name>',
    call: 'accounts.change',
    says: 'let an account in again',
    fixed: { status: 'active' },
  },
  {
    typed: 'accounts topup <name> <amount> <reference>',
    call: 'entries.topUp',
    says: 'credit an amount of CNY, once for each reference',
  },
  {
    typed: 'accounts adjust <name> <amount> <reference>',
    call: 'entries.adjust',
    says: 'add an amount to the balance, or take it away, once for each reference',
  },
  {
    typed: 'accounts entries <name>',
    call: 'entries.list',
    says: 'print the entries and charges of an account, newest first',
    columns: 'at kind amount balance reference actor',
  },
  {
    typed: 'keys list',
    call: 'keys.list',
    says: 'print keys, oldest first',
    columns: 'id account name group status hint used expires_at last_used_at',
  },
  { typed: 'keys create <account> <name>', call: 'keys.create', says: 'make a key; its secret is printed once' },
  {
    typed: 'keys set <id>',
    call: 'keys.change',
    says: 'change the fields of a key that are given; null removes a value',
  },
  { typed: 'keys roll <id>', call: 'keys.roll', says: 'give a key another secret, which is printed once' },
  { typed: 'keys delete <id>', call: 'keys.remove', says: 'delete a key', manner: 'destroy' },
  ...ofCatalogue('models', 'name family price offline'),
  ...ofCatalogue('groups', 'name multiplier public rate'),
  ...ofCatalogue('channels', 'name kind state protocols groups models'),
  {
    typed: 'requests list',
    call: 'usage.list',
    says: 'print settled requests, newest first',
    columns: 'request_id at account model channel status end charge',
  },
  {
    typed: 'refusals list',
    call: 'refusals.list',
    says: 'print refused requests of known keys, newest first',
    columns: 'request_id at account key reason model address',
  },
  {
    typed: 'refusals count',
    call: 'refusals.counts',
    says: 'count all refusals by reason, account, key or address',
    columns: 'account key address reason count error',
  },
  {
    typed: 'senders list',
    call: 'senders.list',
    says: 'print who sends more than usual: figures of a minute',
    columns: 'account key address requests requests_usual refused refused_usual times charge',
  },
  {
    typed: 'actions list',
    call: 'actions.list',
    says: 'print who changed what, newest first',
    columns: 'at actor operation account subject',
  },
]

/** Written to the standard output as it is. */
export const EXPORT: CallCommand = {
  typed: 'export',
  call: 'catalogue.export',
  says: 'write the catalogue as YAML, with variables for secrets',
}
