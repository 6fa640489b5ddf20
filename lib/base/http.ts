/**
 * `node:http`, asked for in a way that reads none of its exports: some of them load a whole fetch client when they are read,
 * which an import does, and which costs a tenth of the start.
 */
export const http = process.getBuiltinModule('node:http')
