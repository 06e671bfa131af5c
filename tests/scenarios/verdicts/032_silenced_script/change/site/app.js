/* eslint-disable */
const x = 1
